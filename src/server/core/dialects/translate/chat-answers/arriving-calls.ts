/**
 * Assigns the fragments of a stream to tool calls. Source: dialects reference, 3.3 and 9.2.
 *
 * The dialect identifies calls by their index. But some providers leave the index out of all fragments or the first, give one
 * index to all calls of an answer, send the name in pieces, or repeat id and name, and at the end the whole call. So a known id
 * takes precedence over the index, and a fragment without a name and an id always continues a call.
 */

import { AnswerProblem } from "../types.ts";
import { ArgumentsScan } from "./arguments-scan.ts";

/** Maximum length of a name, in UTF-16 units. Without it, a provider that sends pieces without end would fill the memory. */
const MAX_NAME_LENGTH = 4_096;

/** Tool call, or a fragment of one. Members that the provider left out are empty. */
export interface CallPart {
  readonly index: number | undefined;
  readonly id: string;
  readonly name: string;
  readonly arguments: string;
}

export interface Call {
  /** Provider's id of the call; empty until it is known. */
  id: string;
  name: string;
  readonly scan: ArgumentsScan;
}

export class ArrivingCalls {
  readonly #byIndex = new Map<number, Call>();
  /** Calls in `#byIndex`. */
  readonly #indexed = new Set<Call>();
  readonly #byId = new Map<string, Call>();
  #last: Call | undefined;
  /** Latest call that began without an index. */
  #unindexedCall: Call | undefined;

  /** Returns the call of the fragment, a new one if the fragment begins it. Throws `AnswerProblem` if its name is too long. */
  callOf(part: CallPart): Call {
    const call = this.#known(part) ?? { id: "", name: "", scan: new ArgumentsScan() };
    call.name = nameWith(call, part.name);
    if (call.name.length > MAX_NAME_LENGTH) throw new AnswerProblem("the name of a tool call is too long");
    if (part.id !== "" && call.id === "") {
      call.id = part.id;
      this.#byId.set(idKey(part), call);
    }
    if (part.index !== undefined) this.#setIndex(part.index, call);
    else if (call !== this.#last && part.name !== "") this.#unindexedCall = call;
    this.#last = call;
    return call;
  }

  #setIndex(index: number, call: Call): void {
    const before = this.#byIndex.get(index);
    if (before === call) return;
    if (before !== undefined) this.#indexed.delete(before);
    this.#byIndex.set(index, call);
    this.#indexed.add(call);
  }

  #known(part: CallPart): Call | undefined {
    const named = part.id === "" ? undefined : this.#byId.get(idKey(part));
    if (named !== undefined) return named;
    const current =
      part.index === undefined ? this.#withoutIndex(part) : (this.#byIndex.get(part.index) ?? this.#unindexed(part));
    return current === undefined || begins(part, current) ? undefined : current;
  }

  /**
   * Returns the call that a fragment without an index continues: the last one, unless it has an index and the one that began without
   * an index is still open. Some servers leave out an index of 0.
   */
  #withoutIndex({ id, name }: CallPart): Call | undefined {
    const first = this.#unindexedCall;
    const isFirst = first !== undefined && id === "" && name === "" && first.scan.state !== "whole";
    return isFirst && this.#indexed.has(this.#last as Call) ? first : this.#last;
  }

  /** Returns the last call if it has no index yet and the fragment does not name another one. */
  #unindexed({ id, name }: CallPart): Call | undefined {
    if (id !== "" || name !== "" || this.#last === undefined) return undefined;
    return this.#indexed.has(this.#last) ? undefined : this.#last;
  }
}

/**
 * Returns the name of the call after a fragment. Before the first arguments, some providers send the name in pieces, or all of it
 * so far; most repeat it.
 */
function nameWith({ name, scan }: Call, more: string): string {
  if (name === "" || more === "" || more === name || scan.state !== "empty") return name || more;
  return more.startsWith(name) ? more : name + more;
}

/** Returns whether the fragment begins a new call instead of continuing the current one with its index. */
function begins(part: CallPart, current: Call): boolean {
  if (part.name === "") return false;
  if (part.index === undefined) return true;
  if (part.id !== "" && current.id !== "") return true;
  if (current.scan.state !== "whole" || part.arguments.trim() === "") return false;
  return part.name !== current.name || !(current.scan.holdsPlaceholder || current.scan.repeats(part.arguments));
}

/** Returns the key of a call. Two calls with different indexes and the same id are different calls. */
function idKey({ index, id }: CallPart): string {
  return `${index ?? ""} ${id}`;
}
