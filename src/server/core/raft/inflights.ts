/**
 * Window of appends that were sent to one follower and are not acknowledged, limited in messages and bytes.
 *
 * Source: cluster reference, section 2.5. The byte limit is exceeded by at most one message, since a window below its limit
 * accepts one more. Indexes ascend.
 */

export interface Inflights {
  readonly maxMessages: number;
  readonly maxBytes: number;
  /** Messages, oldest first. `index` is the index of the message's last entry. */
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

/** Removes every message up to and including `index`: an acknowledgement covers all before it. */
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
