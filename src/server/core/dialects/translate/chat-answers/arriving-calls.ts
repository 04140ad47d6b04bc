/**
 * Tells which tool call a fragment of a stream belongs to, and which begin one. Source: dialects reference, 3.3 and 9.2.
 *
 * By the grammar the index tells it. Providers leave the index out, give one index to all calls of an answer, or repeat
 * id and name on each fragment; so an id that is known stands above the index, and a fragment without a name, whatever
 * else it carries, continues a call.
 */
import type { CallPart } from "./answer-parts.ts";
import { ArgumentsScan } from "./arguments-scan.ts";

export interface Call {
  /** The provider's; empty until it is told. */
  id: string;
  name: string;
  readonly scan: ArgumentsScan;
}

export class ArrivingCalls {
  readonly #byIndex = new Map<number, Call>();
  readonly #byId = new Map<string, Call>();
  #last: Call | undefined;

  /** The call of the fragment; one that was not there before where it begins one. */
  of(part: CallPart): Call {
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

/** Whether the fragment begins a call of its own, and does not continue the one in whose place it stands. */
function begins(part: CallPart, current: Call): boolean {
  if (part.name === "") return false;
  if (part.index === undefined) return true;
  if (part.id !== "" && current.id !== "") return true;
  return current.scan.state === "whole" && part.arguments.trim() !== "";
}

/** Two calls of different index that have one id are two calls. */
function idKey({ index, id }: CallPart): string {
  return `${index ?? ""} ${id}`;
}
