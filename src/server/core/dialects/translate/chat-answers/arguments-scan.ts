/**
 * Tracks the arguments of a call as they arrive in fragments, without parsing them: whether they are one JSON object, and
 * where it ends (RFC 8259).
 *
 * Complete arguments allow the next block to open at once, although the provider never reports completion. Incomplete
 * arguments at the end show that the call was cut off. Fragments are forwarded before the next ones are known. Arguments that
 * turn out not to be JSON are completed to an object that also has the whole text; otherwise a client would run the tool with
 * whatever it could parse, or with nothing.
 */
import { CumulativeFragments } from "../../json/cumulative-fragments.ts";
import { MAX_DEPTH } from "../../json/json-scan.ts";
import { AnswerProblem } from "../types.ts";

/** State of a call's arguments. `broken`: they are not a JSON object. */
export type ArgumentsState = "whole" | "empty" | "cut" | "broken";

/** Member that contains arguments that are not an object, as text. */
const RAW = '"_raw"';

/** Returns an object that replaces invalid arguments. */
export const rawArguments = (text: string): string => `{${RAW}:${JSON.stringify(text)}}`;

/** Matches an empty object. Some providers send one first, in place of arguments that follow (Gemini, Bedrock). */
const PLACEHOLDER = /^\s*\{\s*\}\s*$/;

/** Maximum length of the kept text in UTF-16 units: that of the largest event that is inspected. */
const MAX_TEXT = 8 << 20;

/** Syntax element that may come next. `scalar`: more of a number, `true`, `false` or `null`. */
type ScanState =
  | "start"
  | "first name"
  | "name"
  | "colon"
  | "value"
  | "first item"
  | "after value"
  | "string"
  | "escape"
  | "hex"
  | "scalar"
  | "end";

/** States in which an object may begin within the arguments. */
const OBJECT_STARTS: ReadonlySet<ScanState> = new Set(["value", "first item"]);

const SCALAR = /^(?:-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|true|false|null)$/;
const SCALAR_STARTS = "-0123456789tfn";
/** Maximum length of a number, which JSON does not bound. No tool is called with a longer one. */
const MAX_SCALAR = 4_096;
const SPACES = " \t\n\r";
const ESCAPES = '"\\/bfnrt';
const HEX = /^[0-9a-fA-F]$/;
const HEX_DIGITS = 4;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const SPACE = 0x20;

export class ArgumentsScan {
  #state: ScanState = "start";
  /** Closing brackets of the open objects and arrays. */
  readonly #closers: ("}" | "]")[] = [];
  #isName = false;
  #hexLeft = 0;
  #scalar = "";
  #isBroken = false;
  /** Whether a number or word from an earlier fragment turned out to be invalid. */
  #dropsScalar = false;
  /** Offset in the fragment at which a string contains an invalid character. */
  #invalidAt = 0;
  /** All fragments, up to `MAX_TEXT`. */
  #text = "";
  #isTextKept = true;
  /** Whether any part was forwarded. */
  #hasWritten = false;
  #holdsPlaceholder = false;
  #fragments = new CumulativeFragments();
  #isClosed = false;

  get hasWritten(): boolean {
    return this.#hasWritten;
  }

  /** State of the arguments. `empty`: only white space arrived, which means no arguments. */
  get state(): ArgumentsState {
    if (this.#isBroken) return "broken";
    if (this.#state === "start") return "empty";
    return this.#state === "end" ? "whole" : "cut";
  }

  /** Whether all that arrived is an empty object, which is not forwarded before the end because arguments may replace it. */
  get holdsPlaceholder(): boolean {
    return this.#holdsPlaceholder;
  }

  /** Returns whether the fragment repeats the whole arguments, as some providers do at the end of a call. */
  repeats(fragment: string): boolean {
    if (this.state !== "whole" || !this.#isTextKept) return false;
    const text = fragment.trim();
    // Blank fragments are recognized first, since there may be many, and the whole text is long.
    return text !== "" && text === this.#text.trim();
  }

  /** Returns the part of a fragment that has not arrived yet. It must be called before `push`, for each fragment. */
  newPart(fragment: string): string {
    if (this.#holdsPlaceholder && fragment.trim() !== "") this.#fragments = new CumulativeFragments();
    return this.#fragments.newPart(fragment, this.state !== "cut" || OBJECT_STARTS.has(this.#state));
  }

  /**
   * Reads a fragment and returns its new text as it was written, without white space before the arguments. An empty object that
   * arguments may replace is not returned.
   */
  newText(received: string): string {
    const fragment = this.newPart(received);
    const isStart = this.state === "empty" || this.#holdsPlaceholder;
    const isRepeat = this.repeats(fragment);
    this.push(fragment);
    if (isRepeat || this.#holdsPlaceholder) return "";
    return isStart ? fragment.trimStart() : fragment;
  }

  /** Ends the arguments. A fragment that still follows throws `AnswerProblem`, since its text would be lost. */
  close(): void {
    this.#isClosed = true;
  }

  /**
   * Returns the part of the arguments that can be forwarded now, without white space around the object, and without a number or
   * word that may continue. Returns nothing once the arguments are broken.
   */
  push(fragment: string): string {
    if (this.repeats(fragment)) return "";
    const isBlank = fragment.trim() === "";
    if (this.#isClosed && !isBlank) throw moreFollows();
    if (this.#holdsPlaceholder && !isBlank) {
      this.#holdsPlaceholder = false;
      if (fragment.trimStart().startsWith("{")) {
        this.#state = "start";
        this.#text = "";
      }
    }
    if (this.state === "empty" && PLACEHOLDER.test(fragment)) {
      this.#holdsPlaceholder = true;
      this.#state = "end";
      this.#text += fragment;
      return "";
    }
    if (this.#isTextKept && this.#text.length + fragment.length <= MAX_TEXT) this.#text += fragment;
    else {
      this.#text = "";
      this.#isTextKept = false;
    }
    if (this.#isBroken) return "";
    const text = this.#state === "start" ? fragment.trimStart() : fragment;
    const before = this.#scalar;
    const valid = this.#validPart(text);
    const all = this.#dropsScalar ? valid : before + valid;
    const isOpen = this.#state === "scalar" && !this.#isBroken;
    const ready = isOpen ? all.slice(0, all.length - this.#scalar.length) : all;
    this.#hasWritten ||= ready !== "";
    return ready;
  }

  /**
   * Returns the text that completes the arguments to a JSON object. `ranOutOfTokens` is true if the model ran out of tokens; then
   * arguments that were cut off stay so.
   */
  completionText(ranOutOfTokens: boolean): string {
    const { state } = this;
    if (state === "broken" && !this.#isTextKept) throw new AnswerProblem("the arguments of a tool call are too long");
    if (this.#holdsPlaceholder) return this.#text.trim();
    if (state === "whole" || state === "empty" || (state === "cut" && ranOutOfTokens)) return "";
    if (!this.#hasWritten) return rawArguments(this.#text);
    // The whole object was forwarded before more text followed it.
    if (this.#closers.length === 0) throw moreFollows();
    return this.#closingText() + this.#rawMember();
  }

  /** Returns the beginning of the text that is valid as part of an object. */
  #validPart(text: string): string {
    for (let at = 0; at < text.length; at++) {
      const before = at;
      try {
        if (this.#state === "end") return this.#endedAt(text, at);
        if (this.#state === "string") at = this.#skipString(text, at);
        else this.#readChar(text[at] ?? "");
      } catch (error) {
        if (!(error instanceof AnswerProblem)) throw error;
        this.#isBroken = true;
        return this.#beforeInvalid(text, before);
      }
    }
    return text;
  }

  /** Returns the text up to the invalid character; an invalid number or word is not forwarded either. */
  #beforeInvalid(text: string, at: number): string {
    if (this.#state !== "scalar") return text.slice(0, this.#state === "string" ? this.#invalidAt : at);
    const began = at - this.#scalar.length;
    this.#dropsScalar = began < 0;
    this.#scalar = "";
    this.#state = "value";
    return text.slice(0, Math.max(0, began));
  }

  /** Returns the text that closes everything open within the outermost object. */
  #closingText(): string {
    const inner = this.#closers.slice(1).reverse().join("");
    return this.#endOfValue() + inner;
  }

  #endOfValue(): string {
    const isOutermost = this.#closers.length === 1;
    switch (this.#state) {
      case "string":
        return this.#isName ? '":null' : '"';
      case "escape":
        return this.#isName ? '\\":null' : '\\"';
      case "hex":
        return `${"0".repeat(this.#hexLeft)}${this.#isName ? '":null' : '"'}`;
      case "colon":
        return ":null";
      case "scalar":
        return SCALAR.test(this.#scalar) ? this.#scalar : "null";
      case "value":
        return "null";
      case "name":
        return isOutermost ? "" : '"":null';
      default:
        return "";
    }
  }

  #rawMember(): string {
    const isAlone = this.#closers.length === 1 && (this.#state === "first name" || this.#state === "name");
    return `${isAlone ? "" : ","}${RAW}:${JSON.stringify(this.#text)}}`;
  }

  /** Skips to the end of the string, to the next escape, or to the end of the text. */
  #skipString(text: string, start: number): number {
    for (let at = start; at < text.length; at++) {
      const code = text.charCodeAt(at);
      if (code === QUOTE) {
        this.#state = this.#isName ? "colon" : "after value";
        return at;
      }
      if (code === BACKSLASH) {
        this.#state = "escape";
        return at;
      }
      if (code < SPACE) {
        this.#invalidAt = at;
        throw notJsonObject();
      }
    }
    return text.length - 1;
  }

  #readChar(character: string): void {
    switch (this.#state) {
      case "escape":
        this.#readEscape(character);
        return;
      case "hex":
        if (!HEX.test(character)) throw notJsonObject();
        if (--this.#hexLeft === 0) this.#state = "string";
        return;
      case "scalar":
        if (!`${SPACES},]}`.includes(character)) this.#addToScalar(character);
        else this.#endScalar(character);
        return;
      default:
        if (!SPACES.includes(character)) this.#readToken(character);
    }
  }

  #readEscape(character: string): void {
    if (character === "u") {
      this.#state = "hex";
      this.#hexLeft = HEX_DIGITS;
    } else if (ESCAPES.includes(character)) {
      this.#state = "string";
    } else {
      throw notJsonObject();
    }
  }

  #addToScalar(character: string): void {
    this.#scalar += character;
    if (this.#scalar.length > MAX_SCALAR) throw notJsonObject();
  }

  #endScalar(delimiter: string): void {
    if (!SCALAR.test(this.#scalar)) throw notJsonObject();
    this.#scalar = "";
    this.#state = "after value";
    this.#readChar(delimiter);
  }

  #readToken(character: string): void {
    const place = this.#state;
    const closer = this.#closers.at(-1);
    const canClose = place === "after value" || place === (closer === "}" ? "first name" : "first item");
    if (character === closer && canClose) {
      this.#closers.pop();
      this.#state = this.#closers.length === 0 ? "end" : "after value";
    } else if (place === "start" && character === "{") {
      this.#openContainer("}", "first name");
    } else if (place === "value" || place === "first item") {
      this.#beginValue(character);
    } else if ((place === "name" || place === "first name") && character === '"') {
      this.#isName = true;
      this.#state = "string";
    } else if (place === "colon" && character === ":") {
      this.#state = "value";
    } else if (place === "after value" && character === ",") {
      this.#state = closer === "}" ? "name" : "value";
    } else {
      throw notJsonObject();
    }
  }

  #beginValue(character: string): void {
    if (character === "{") {
      this.#openContainer("}", "first name");
    } else if (character === "[") {
      this.#openContainer("]", "first item");
    } else if (character === '"') {
      this.#isName = false;
      this.#state = "string";
    } else if (SCALAR_STARTS.includes(character)) {
      this.#state = "scalar";
      this.#scalar = character;
    } else {
      throw notJsonObject();
    }
  }

  /**
   * Returns the text up to the end of the object. If more text follows in the same fragment, the closing bracket is not
   * forwarded.
   */
  #endedAt(text: string, end: number): string {
    if (text.slice(end).trim() === "") return text.slice(0, end);
    this.#isBroken = true;
    const isUnsent = !this.#hasWritten;
    if (!isUnsent && end > 0) {
      this.#closers.push("}");
      this.#state = "after value";
      return text.slice(0, end - 1);
    }
    return isUnsent ? "" : text.slice(0, end);
  }

  #openContainer(closer: "}" | "]", place: ScanState): void {
    if (this.#closers.push(closer) > MAX_DEPTH)
      throw new AnswerProblem("the arguments of a tool call are nested too deep");
    this.#state = place;
  }
}

const moreFollows = (): AnswerProblem => new AnswerProblem("more follows the arguments of a tool call");

function notJsonObject(): AnswerProblem {
  return new AnswerProblem("the arguments of a tool call are not a JSON object");
}
