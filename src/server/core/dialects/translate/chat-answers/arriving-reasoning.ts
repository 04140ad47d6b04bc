/**
 * Reads the reasoning of a stream of chunks. Some servers send it as plain text first, and then once more whole, in a detail with
 * its signature; this gateway does so too for a client of the compat dialect. The repetition is not read as further text.
 */
import { listOf, type Values } from "../../json/json-values.ts";
import { type Reasoning, reasoningOf } from "./chat-answer-parts.ts";

/** Maximum length of the plain text that is kept for the comparison, in UTF-16 units. A longer one is not recognized again. */
const MAX_KEPT = 1 << 20;

export class ArrivingReasoning {
  /** Plain text since the last delta with details. */
  #plain = "";
  #isTooLong = false;

  /** Returns the reasoning of a delta. */
  read(delta: Values): readonly Reasoning[] {
    const parts = reasoningOf(delta);
    const [first, ...rest] = parts;
    if (listOf(delta["reasoning_details"]).length === 0) {
      if (first !== undefined) this.#keep(first.text);
      return parts;
    }
    const isRepetition = !this.#isTooLong && this.#plain !== "" && first?.text === this.#plain;
    this.#plain = "";
    this.#isTooLong = false;
    return isRepetition ? [{ ...first, text: "" }, ...rest] : parts;
  }

  #keep(text: string): void {
    this.#isTooLong ||= this.#plain.length + text.length > MAX_KEPT;
    this.#plain = this.#isTooLong ? "" : this.#plain + text;
  }
}
