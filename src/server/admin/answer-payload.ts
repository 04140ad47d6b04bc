/**
 * Payloads of answers. A list may be long, so it is written in slices: neither its text is in memory as a whole nor the thread
 * blocked, and a slow reader slows only its own answer.
 */

import { setImmediate as nextTurn } from "node:timers/promises";
import { JsonText } from "./handler-types.ts";

/** Number of characters that are gathered before a write. */
const SLICE_LENGTH = 64 << 10;
/**
 * Maximum time on the thread without a break, in milliseconds. It is short, because a data plane request needs several turns of
 * the event loop and may have to wait this long before each.
 */
const MAX_TURN_MS = 1;

/** Maximum number of items of a list that is written at once. */
const MAX_WHOLE_ITEMS = 1_000;

/** Text of an answer: whole, or in slices. */
export type Payload = string | AsyncIterable<string | Uint8Array> | Iterable<string>;

export const listPayload = (rows: Iterable<unknown>, others: object): Payload =>
  slices('{"items":[', rows, `],${JSON.stringify(others).slice(1)}\n`);

/** Returns a value whose longest list is written in slices, one item per line; one without a long list is written at once. */
export function valuePayload(value: unknown): Payload {
  if (value instanceof JsonText) return value.parts.length === 1 ? (value.parts[0] ?? "") : value.parts;
  const fields = Object.entries(value ?? {});
  const [name, items] = fields.find(([, field]) => Array.isArray(field) && field.length > MAX_WHOLE_ITEMS) ?? [];
  if (name === undefined) return `${JSON.stringify(value)}\n`;
  const others = JSON.stringify(Object.fromEntries(fields.filter(([field]) => field !== name)));
  const head = others === "{}" ? "{" : `${others.slice(0, -1)},`;
  return slices(`${head}${JSON.stringify(name)}:[`, items as readonly unknown[], "]}\n");
}

/** Yields items, one per line, between head and tail. */
async function* slices(head: string, items: Iterable<unknown>, tail: string): AsyncGenerator<string> {
  let text = head;
  let separator = "\n";
  let turn = performance.now();
  for (const item of items) {
    text += separator + JSON.stringify(item);
    separator = ",\n";
    if (text.length >= SLICE_LENGTH) {
      yield text;
      text = "";
    }
    if (performance.now() - turn > MAX_TURN_MS) {
      await nextTurn();
      turn = performance.now();
    }
  }
  yield text + tail;
}
