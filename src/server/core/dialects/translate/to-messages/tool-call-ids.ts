/**
 * Creates ids of tool calls in the alphabet of the messages dialect, the same for a call and its result.
 *
 * Source: dialects reference, 5.1, 8.3 and 10.3 (9). An id in that alphabet stays unchanged, since the provider may have made
 * it; every other one is encoded. No two calls of a request get the same id, since some providers restart the numbers of their
 * calls in each answer.
 */
import { listOf, objectOf } from "../../json/json-values.ts";

const VALID_ID = /^[A-Za-z0-9_-]+$/;

export interface ToolIds {
  /** Begins a turn of calls. Later results belong to its calls, not to those of an earlier turn. */
  beginTurn(): void;
  /** Returns the id to send for a call. `given` is the client's id, which is not empty. */
  assignCallId(clientId: string): string;
  takeResultId(clientId: string): string;
}

interface SentCalls {
  readonly ids: string[];
  answered: number;
}

/**
 * Returns the ids of one request. `givenIds` returns all ids of the request. They are collected before the first id is
 * created, since those in the alphabet stay.
 */
export function openToolIds(givenIds: () => Iterable<string>): ToolIds {
  const usedIds = new Set<string>();
  const nextNumbers = new Map<string, number>();
  let calls = new Map<string, SentCalls>();
  let unchangedIds: ReadonlySet<string> | undefined;

  function unused(id: string): string {
    unchangedIds ??= new Set([...givenIds()].filter((clientId) => VALID_ID.test(clientId)));
    const isFree = (candidate: string) => !usedIds.has(candidate) && !unchangedIds?.has(candidate);
    if (isFree(id)) return id;
    let number = nextNumbers.get(id) ?? 2;
    while (!isFree(`${id}_${number}`)) number++;
    nextNumbers.set(id, number + 1);
    return `${id}_${number}`;
  }

  return {
    beginTurn() {
      calls = new Map();
    },
    assignCallId(clientId) {
      const id = VALID_ID.test(clientId) && !usedIds.has(clientId) ? clientId : unused(inAlphabet(clientId));
      usedIds.add(id);
      const same = calls.get(clientId);
      if (same === undefined) calls.set(clientId, { ids: [id], answered: 0 });
      else same.ids.push(id);
      return id;
    },
    takeResultId(clientId) {
      const call = calls.get(clientId);
      if (call === undefined) return inAlphabet(clientId);
      const id = call.ids[Math.min(call.answered, call.ids.length - 1)];
      call.answered++;
      return id ?? inAlphabet(clientId);
    },
  };
}

function inAlphabet(id: string): string {
  return id.replace(/[^A-Za-z0-9_-]/g, "_");
}

/** Returns the ids of the calls in chat messages. */
export function idsIn(messages: readonly unknown[]): readonly string[] {
  const ids: string[] = [];
  for (const message of messages) {
    for (const call of listOf(objectOf(message)?.["tool_calls"])) {
      const id = objectOf(call)?.["id"];
      if (typeof id === "string") ids.push(id);
    }
  }
  return ids;
}
