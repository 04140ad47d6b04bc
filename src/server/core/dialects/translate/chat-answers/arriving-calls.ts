/**
 * Assigns the fragments of a stream to tool calls. Source: dialects reference, 3.3 and 9.2.
 *
 * The dialect identifies calls by their index. But some providers leave the index out, give one index to all calls of an
 * answer, or repeat id and name on each fragment. So a known id takes precedence over the index, and a fragment without a name
 * always continues a call.
 */

import { ArgumentsScan } from "./arguments-scan.ts";
import type { CallPart } from "./chat-answer-parts.ts";

export interface Call {
  /** Provider's id of the call; empty until it is known. */
  id: string;
  name: string;
  readonly scan: ArgumentsScan;
}

export class ArrivingCalls {
  readonly #byIndex = new Map<number, Call>();
  readonly #byId = new Map<string, Call>();
  #last: Call | undefined;

  /** Returns the call of the fragment, a new one if the fragment begins it. */
  callOf(part: CallPart): Call {
    const call = this.#known(part) ?? { id: "", name: "", scan: new ArgumentsScan() };
    if (call.name === "") call.name = part.name;
    if (part.id !== "" && call.id === "") {
      call.id = part.id;
      this.#byId.set(idKey(part), call);
    }
    if (part.index !== undefined) this.#byIndex.set(part.index, call);
    this.#last = call;
    return call;
  }

  #known(part: CallPart): Call | undefined {
    const named = part.id === "" ? undefined : this.#byId.get(idKey(part));
    if (named !== undefined) return named;
    const current = part.index === undefined ? this.#last : this.#byIndex.get(part.index);
    return current === undefined || begins(part, current) ? undefined : current;
  }
}

/** Returns whether the fragment begins a new call instead of continuing the current one with its index. */
function begins(part: CallPart, current: Call): boolean {
  if (part.name === "") return false;
  if (part.index === undefined) return true;
  if (part.id !== "" && current.id !== "") return true;
  return current.scan.state === "whole" && part.arguments.trim() !== "";
}

/** Returns the key of a call. Two calls with different indexes and the same id are different calls. */
function idKey({ index, id }: CallPart): string {
  return `${index ?? ""} ${id}`;
}
