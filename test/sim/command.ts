/**
 * A simulated client's command as a log entry: a fixed header of numbers, then padding to a random size. `attempt`
 * differs for each try, so that a refused try can be distinguished from an accepted one.
 */

export type Change =
  | { readonly kind: "write"; readonly value: number }
  /** Sets `value` if the current value is `expected`. */
  | { readonly kind: "swap"; readonly expected: number; readonly value: number }
  /** Mixes `value` into the current value, so that the result reveals the order and number of appends. */
  | { readonly kind: "append"; readonly value: number };

export interface Command {
  readonly client: number;
  readonly seq: number;
  readonly attempt: number;
  readonly key: number;
  /** Wall clock of the leader that appended it, in milliseconds. */
  readonly now: number;
  readonly change: Change;
}

const KINDS = ["write", "swap", "append"] as const;
const HEAD_BYTES = 37;

export function encodeCommand(command: Command, fillBytes: number): Uint8Array {
  const { client, seq, attempt, key, now, change } = command;
  const data = new Uint8Array(HEAD_BYTES + fillBytes);
  const view = new DataView(data.buffer);
  view.setUint8(0, KINDS.indexOf(change.kind));
  view.setUint32(1, client);
  view.setUint32(5, seq);
  view.setUint32(9, attempt);
  view.setUint32(13, key);
  view.setFloat64(17, now);
  view.setUint32(25, change.value);
  view.setUint32(29, change.kind === "swap" ? change.expected : 0);
  return data;
}

/** `undefined` for an entry without a command. */
export function decodeCommand(data: Uint8Array): Command | undefined {
  if (data.length < HEAD_BYTES) return undefined;
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
  const value = view.getUint32(25);
  const kind = KINDS[view.getUint8(0)];
  if (kind === undefined) return undefined;
  return {
    client: view.getUint32(1),
    seq: view.getUint32(5),
    attempt: view.getUint32(9),
    key: view.getUint32(13),
    now: view.getFloat64(17),
    change: change(kind, value, view.getUint32(29)),
  };
}

export function change(kind: Change["kind"], value: number, expected: number): Change {
  return kind === "swap" ? { kind, expected, value } : { kind, value };
}

/** Value of a key after `value` is appended to `state`; never 0. */
export function appended(state: number, value: number): number {
  let mixed = Math.imul(state ^ (value + 0x9e3779b9), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return ((mixed ^ (mixed >>> 16)) >>> 0) | 1;
}
