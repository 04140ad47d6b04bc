/**
 * Encoding of a log entry: `u8 1 | u64 now | UTF-8 JSON of a Command`, big endian, `now` in milliseconds since 1970. The
 * proposer encodes the command once; the leader stamps the time when it appends. An entry without data is the first of a leader
 * and only advances the applied index. Source: cluster reference, 6.1.
 */

import type { Command, FeatureRange } from "./types.ts";

/** Maximum bytes of a command; larger content is uploaded as a blob. */
export const MAX_COMMAND_BYTES = 1_048_576;

const FORMAT = 1;
const HEADER_BYTES = 9;

const encoder = new TextEncoder();
/** Keeps a byte order mark, so that decoding is one-to-one and the JSON parser refuses it. */
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Committed entry that this build cannot apply. Continuing without it would fork the state. */
export class UpgradeRequired extends Error {
  constructor(what: string, { min, max }: FeatureRange) {
    super(
      `the state of this node's cluster ${what}, and this build knows levels ${min} to ${max} of it: run the version that ` +
        "the other members run, or a newer one; the data directory is whole. To stay with this version, restore a " +
        "snapshot of before the upgrade into an empty data directory",
    );
    this.name = "UpgradeRequired";
  }
}

/** `malformed`: refused by every replica. `unknown-format`: written by a newer build. */
type DecodedProposal =
  | { readonly kind: "empty" }
  | { readonly kind: "proposal"; readonly nowMs: number; readonly command: unknown }
  | { readonly kind: "malformed"; readonly nowMs: number | undefined }
  | { readonly kind: "unknown-format"; readonly format: number };

/** Encodes a command. The caller must check the result against `MAX_COMMAND_BYTES`. */
export function encodeCommand(command: Command): Uint8Array {
  return encoder.encode(JSON.stringify(command));
}

export function encodeProposal(nowMs: number, command: Uint8Array): Uint8Array {
  if (!Number.isSafeInteger(nowMs) || nowMs < 0) throw new RangeError(`not a time in whole milliseconds: ${nowMs}`);
  const data = new Uint8Array(HEADER_BYTES + command.length);
  const view = new DataView(data.buffer);
  view.setUint8(0, FORMAT);
  view.setBigUint64(1, BigInt(nowMs));
  data.set(command, HEADER_BYTES);
  return data;
}

/** Decodes any bytes. The command is parsed as JSON and not checked further. */
export function decodeProposal(data: Uint8Array): DecodedProposal {
  if (data.length === 0) return { kind: "empty" };
  const format = data[0] ?? 0;
  if (format > FORMAT) return { kind: "unknown-format", format };
  if (format !== FORMAT || data.length < HEADER_BYTES) return { kind: "malformed", nowMs: undefined };

  const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
  const nowMs = Number(view.getBigUint64(1));
  if (!Number.isSafeInteger(nowMs)) return { kind: "malformed", nowMs: undefined };
  if (data.length - HEADER_BYTES > MAX_COMMAND_BYTES) return { kind: "malformed", nowMs };
  try {
    return { kind: "proposal", nowMs, command: JSON.parse(decoder.decode(data.subarray(HEADER_BYTES))) };
  } catch {
    return { kind: "malformed", nowMs };
  }
}
