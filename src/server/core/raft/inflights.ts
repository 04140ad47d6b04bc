/**
 * Window of appends sent to one follower and not yet acknowledged, limited in messages and bytes.
 *
 * Source: cluster reference, section 2.5. At most one message exceeds the byte limit, since a window below its limit accepts
 * one more. Indexes ascend.
 */

export interface Inflights {
  readonly maxMessages: number;
  readonly maxBytes: number;
  /** Oldest first; `index` of the last entry of the message. */
  readonly messages: { readonly index: number; readonly bytes: number }[];
  bytes: number;
}

export function createInflights(maxMessages: number, maxBytes: number): Inflights {
  return { maxMessages, maxBytes, messages: [], bytes: 0 };
}

export function isFull(inflights: Inflights): boolean {
  return inflights.messages.length >= inflights.maxMessages || inflights.bytes >= inflights.maxBytes;
}

export function addInflight(inflights: Inflights, index: number, bytes: number): void {
  inflights.messages.push({ index, bytes });
  inflights.bytes += bytes;
}

/** Frees every message up to and with `index`: an acknowledgement covers all before it. */
export function freeUpTo(inflights: Inflights, index: number): void {
  let freed = 0;
  for (const message of inflights.messages) {
    if (message.index > index) break;
    inflights.bytes -= message.bytes;
    freed += 1;
  }
  if (freed > 0) inflights.messages.splice(0, freed);
}

export function clearInflights(inflights: Inflights): void {
  inflights.messages.length = 0;
  inflights.bytes = 0;
}
