/**
 * Processes arguments of a tool call that arrive as fragments of JSON text. Each string value in them is a separate, decoded
 * text; everything between (names, numbers, brackets) passes unchanged. An escape sequence is kept until it is complete, so
 * that none is split. Source: guardrails reference, 5.4.
 *
 * If the fragments turn out not to be JSON, the rest is inspected as plain text, so that malformed arguments do not escape
 * inspection.
 */
import { CumulativeFragments } from "../json/cumulative-fragments.ts";
import { MAX_DEPTH } from "../json/json-scan.ts";

/** Part of a fragment. A fragment is split into its parts in order. */
export type ArgumentPart =
  | { readonly kind: "raw"; readonly raw: string }
  /** Decoded text of string value number `value`. `isEnd` is true if the value ends with this part. */
  | { readonly kind: "text"; readonly value: number; readonly text: string; readonly isEnd: boolean };

/** Text of one string value that was read but not shown yet. */
interface PendingText {
  text: string;
  /** JSON spelling of each UTF-16 unit of `text`. */
  spelling: string[];
  isChanged: boolean;
  readonly isPlain: boolean;
}

const ESCAPES: Readonly<Record<string, string>> = { b: "\b", f: "\f", n: "\n", r: "\r", t: "\t" };
const SCALAR = /[-+.0-9a-zA-Z]/;
const SPACE = /[ \t\r\n]/;

export class ArgumentText {
  readonly #fragments = new CumulativeFragments();
  /** Opening brackets (`{` or `[`) of the open objects and lists. */
  readonly #openBrackets: string[] = [];
  #state: "outside" | "name" | "value" | "plain" = "outside";
  /** Token that may come next outside strings. */
  #expects: "value" | "name" | "colon" | "comma" | "nothing" = "value";
  #isInScalar = false;
  /** Incomplete escape sequence. */
  #escape = "";
  #value = -1;
  /** Whether the current value has had any text. */
  #hasText = false;
  readonly #pending = new Map<number, PendingText>();

  /** Number of the current value; `undefined` if it has no text yet. */
  get openValue(): number | undefined {
    return this.#hasText || this.#escape !== "" ? Math.max(this.#value, 0) : undefined;
  }

  /** Estimated memory in UTF-16 units, including the spelling of each buffered unit. */
  get heldUnits(): number {
    return 8 * (this.#pending.get(this.#value)?.text.length ?? 0);
  }

  /** Returns the part of a fragment that has not arrived yet. It must be called before `push`, for each fragment. */
  newPart(fragment: string): string {
    const isDone = this.#state === "plain" || this.#openBrackets.length === 0;
    return this.#fragments.newPart(fragment, isDone || (this.#state === "outside" && this.#expects === "value"));
  }

  push(fragment: string): readonly ArgumentPart[] {
    const parts: ArgumentPart[] = [];
    let raw = "";
    let text = "";
    const flushRaw = (): void => {
      if (raw !== "") parts.push({ kind: "raw", raw });
      raw = "";
    };
    const flushText = (isEnd: boolean): void => {
      if (text === "" && !(isEnd && this.#hasText)) return;
      parts.push({ kind: "text", value: this.#value, text, isEnd });
      this.#hasText = !isEnd;
      text = "";
    };
    for (let at = 0; at < fragment.length; at++) {
      const char = fragment.charAt(at);
      if (this.#state === "name") {
        raw += char;
        this.#readNameChar(char);
        continue;
      }
      if (this.#state === "outside") {
        if (this.#readOutsideChar(char)) {
          raw += char;
          if (this.#isInText()) flushRaw();
          continue;
        }
        flushRaw();
        this.#beginText("plain");
      }
      if (this.#state === "value" && this.#escape === "" && char === '"') {
        if (text === "" && !this.#hasText) this.#pending.delete(this.#value);
        flushText(true);
        raw += char;
        this.#state = "outside";
        continue;
      }
      text += this.#readStringChar(char);
    }
    flushRaw();
    flushText(false);
    return parts;
  }

  /** Returns the JSON spelling of `shown`, the released text of a value, without the quotes. `isEnd` marks its last part. */
  takeSpelling(value: number, shown: string, isEnd: boolean): string {
    const pending = this.#pending.get(value);
    if (pending === undefined) return "";
    let written = "";
    if (shown === "") {
      // The text was withheld.
    } else if (!pending.isChanged && pending.text.startsWith(shown)) {
      written = pending.spelling.splice(0, shown.length).join("");
      pending.text = pending.text.slice(shown.length);
    } else {
      pending.isChanged = true;
      pending.text = "";
      pending.spelling = [];
      written = pending.isPlain ? shown : JSON.stringify(shown).slice(1, -1);
    }
    if (isEnd) this.#pending.delete(value);
    return written;
  }

  /** Ends the arguments. Returns an escape sequence that was never completed. */
  end(): string {
    const rest = this.#escape;
    this.#escape = "";
    this.#hasText = false;
    return rest;
  }

  #isInText(): boolean {
    return this.#state !== "outside" && this.#state !== "name";
  }

  #beginText(state: "value" | "plain"): void {
    this.#state = state;
    this.#value++;
    this.#hasText = false;
    this.#pending.set(this.#value, { text: "", spelling: [], isChanged: false, isPlain: state === "plain" });
  }

  #readNameChar(char: string): void {
    if (this.#escape !== "") this.#escape = "";
    else if (char === "\\") this.#escape = char;
    else if (char === '"') this.#state = "outside";
  }

  /** Reads a character outside strings. Returns false if JSON does not allow it there. */
  #readOutsideChar(char: string): boolean {
    if (this.#isInScalar && SCALAR.test(char)) return true;
    this.#isInScalar = false;
    if (SPACE.test(char)) return true;
    const top = this.#openBrackets.at(-1);
    if (char === '"') return this.#openString();
    if (char === "{" || char === "[") {
      if (this.#expects !== "value" || this.#openBrackets.length >= MAX_DEPTH) return false;
      this.#openBrackets.push(char);
      this.#expects = char === "{" ? "name" : "value";
      return true;
    }
    if (char === "}" || char === "]") {
      if (top !== (char === "}" ? "{" : "[") || this.#expects === "colon") return false;
      this.#openBrackets.pop();
      this.#endValue();
      return true;
    }
    if (char === ",") {
      if (this.#expects !== "comma") return false;
      this.#expects = top === "{" ? "name" : "value";
      return true;
    }
    if (char === ":") {
      if (this.#expects !== "colon") return false;
      this.#expects = "value";
      return true;
    }
    // A lone number or literal is not a valid arguments text.
    if (this.#expects !== "value" || top === undefined || !/[-0-9tfn]/.test(char)) return false;
    this.#isInScalar = true;
    this.#endValue();
    return true;
  }

  #openString(): boolean {
    if (this.#expects === "name") {
      this.#state = "name";
      this.#expects = "colon";
      return true;
    }
    if (this.#expects !== "value") return false;
    this.#beginText("value");
    this.#endValue();
    return true;
  }

  #endValue(): void {
    this.#expects = this.#openBrackets.length === 0 ? "nothing" : "comma";
  }

  /** Reads a character of a string. Returns the text that it completes, if any. */
  #readStringChar(char: string): string {
    if (this.#state === "plain") return this.#append(char, char);
    if (this.#escape === "") {
      if (char !== "\\") return this.#append(char, char);
      this.#escape = char;
      return "";
    }
    this.#escape += char;
    const written = this.#escape;
    const kind = written.charAt(1);
    if (kind === "u" && /^\\u[0-9a-fA-F]{0,3}$/.test(written)) return "";
    this.#escape = "";
    if (kind !== "u") return this.#append(ESCAPES[kind] ?? kind, written);
    const code = Number.parseInt(written.slice(2), 16);
    if (/^\\u[0-9a-fA-F]{4}$/.test(written)) return this.#append(String.fromCharCode(code), written);
    // An invalid JSON escape is read literally.
    let text = "";
    for (const each of written) text += this.#append(each, each);
    return text;
  }

  #append(text: string, spelling: string): string {
    const unshown = this.#pending.get(this.#value);
    if (unshown?.isChanged === false) {
      unshown.text += text;
      unshown.spelling.push(spelling);
    }
    return text;
  }
}
