/**
 * Follows the arguments of a call as they come in fragments, without keeping them: whether they are the text of one JSON
 * object, and where it ends (RFC 8259).
 *
 * That a call is whole lets the next block open at once, though the provider never says so; that it is not, when all is
 * over, tells that it was cut off. Fragments are handed on before the next are seen, so that what is no JSON has to be
 * found as it comes: a client would run the tool with what it could make of it, or with nothing.
 */
import { MAX_DEPTH } from "../../json-scan.ts";
import { AnswerProblem } from "../types.ts";

/** How far the arguments of a call came. */
export type Arguments = "whole" | "empty" | "cut";

/** What may come next. `scalar`: more of a number, `true`, `false` or `null`. */
type Place =
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

const SCALAR = /^(?:-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|true|false|null)$/;
const SCALAR_STARTS = "-0123456789tfn";
/** Numbers have no bound of their own; no tool is called with a longer one. */
const MAX_SCALAR = 4_096;
const SPACES = " \t\n\r";
const ESCAPES = '"\\/bfnrt';
const HEX = /^[0-9a-fA-F]$/;
const HEX_DIGITS = 4;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const SPACE = 0x20;

export class ArgumentsScan {
  #place: Place = "start";
  /** What closes the objects and arrays that are open. */
  readonly #closers: ("}" | "]")[] = [];
  #isName = false;
  #hexLeft = 0;
  #scalar = "";

  /** `empty`: nothing but white space came, which means no arguments. */
  get state(): Arguments {
    if (this.#place === "start") return "empty";
    return this.#place === "end" ? "whole" : "cut";
  }

  /** The fragment without white space around the object. Throws `AnswerProblem` for what is no part of an object. */
  take(fragment: string): string {
    const text = this.#place === "start" ? fragment.trimStart() : fragment;
    for (let at = 0; at < text.length; at++) {
      if (this.#place === "end") return endedAt(text, at);
      if (this.#place === "string") at = this.#passString(text, at);
      else this.#step(text[at] ?? "");
    }
    return text;
  }

  /** To the character that ends the string, or that an escape begins with, or to the last of the text. */
  #passString(text: string, start: number): number {
    for (let at = start; at < text.length; at++) {
      const code = text.charCodeAt(at);
      if (code === QUOTE) {
        this.#place = this.#isName ? "colon" : "after value";
        return at;
      }
      if (code === BACKSLASH) {
        this.#place = "escape";
        return at;
      }
      if (code < SPACE) throw noJson();
    }
    return text.length - 1;
  }

  #step(character: string): void {
    switch (this.#place) {
      case "escape":
        this.#escape(character);
        return;
      case "hex":
        if (!HEX.test(character)) throw noJson();
        if (--this.#hexLeft === 0) this.#place = "string";
        return;
      case "scalar":
        if (!`${SPACES},]}`.includes(character)) this.#addToScalar(character);
        else this.#endScalar(character);
        return;
      default:
        if (!SPACES.includes(character)) this.#token(character);
    }
  }

  #escape(character: string): void {
    if (character === "u") {
      this.#place = "hex";
      this.#hexLeft = HEX_DIGITS;
    } else if (ESCAPES.includes(character)) {
      this.#place = "string";
    } else {
      throw noJson();
    }
  }

  #addToScalar(character: string): void {
    this.#scalar += character;
    if (this.#scalar.length > MAX_SCALAR) throw noJson();
  }

  #endScalar(delimiter: string): void {
    if (!SCALAR.test(this.#scalar)) throw noJson();
    this.#scalar = "";
    this.#place = "after value";
    this.#step(delimiter);
  }

  #token(character: string): void {
    const place = this.#place;
    const closer = this.#closers.at(-1);
    const canClose = place === "after value" || place === (closer === "}" ? "first name" : "first item");
    if (character === closer && canClose) {
      this.#closers.pop();
      this.#place = this.#closers.length === 0 ? "end" : "after value";
    } else if (place === "start" && character === "{") {
      this.#open("}", "first name");
    } else if (place === "value" || place === "first item") {
      this.#value(character);
    } else if ((place === "name" || place === "first name") && character === '"') {
      this.#isName = true;
      this.#place = "string";
    } else if (place === "colon" && character === ":") {
      this.#place = "value";
    } else if (place === "after value" && character === ",") {
      this.#place = closer === "}" ? "name" : "value";
    } else {
      throw noJson();
    }
  }

  #value(character: string): void {
    if (character === "{") {
      this.#open("}", "first name");
    } else if (character === "[") {
      this.#open("]", "first item");
    } else if (character === '"') {
      this.#isName = false;
      this.#place = "string";
    } else if (SCALAR_STARTS.includes(character)) {
      this.#place = "scalar";
      this.#scalar = character;
    } else {
      throw noJson();
    }
  }

  #open(closer: "}" | "]", place: Place): void {
    if (this.#closers.push(closer) > MAX_DEPTH)
      throw new AnswerProblem("the arguments of a tool call are nested too deep");
    this.#place = place;
  }
}

function endedAt(text: string, end: number): string {
  if (text.slice(end).trim() !== "") throw new AnswerProblem("more follows the arguments of a tool call");
  return text.slice(0, end);
}

function noJson(): AnswerProblem {
  return new AnswerProblem("the arguments of a tool call are not a JSON object");
}
