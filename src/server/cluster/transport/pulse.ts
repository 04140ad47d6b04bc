/**
 * Payload of the keep-alive probes between nodes: their clocks, and the index up to which their logs are safe. It is JSON,
 * so that a later version can add members; an earlier version sends and receives an empty payload.
 */

import { isRecord, type Pulse } from "../wire/index.ts";

/** Clock of a peer at a moment of this node's monotonic clock. Its error is at most half the round trip. */
export interface ClockReading {
  /** Time of the peer's clock, in milliseconds since 1970. */
  readonly atMs: number;
  readonly monotonicMs: number;
  readonly roundTripMs: number;
}

export interface PulsePorts {
  /** Returns the time of this node's clock, in milliseconds since 1970. */
  now(): number;
  /** Returns the time of a monotonic clock, in milliseconds. */
  monotonic(): number;
  /** Returns the last entry that is both committed and on this node's disk, which no later leader may replace. */
  safeIndex(): number;
  onSafeIndex(peer: PulsePeer, index: number): void;
  onClock(peerId: string, reading: ClockReading): void;
}

/** Identity of the peer on the link, from its hello. */
export interface PulsePeer {
  readonly nodeId: string;
  /** Identity of the peer's data directory; `undefined` on a link that this node dialed. */
  readonly storageId: string | undefined;
}

/** Creates the probe payloads of one link. */
export function createPulse(peer: PulsePeer, ports: PulsePorts): Pulse {
  let asked: { readonly at: number; readonly since: number } | undefined;

  return {
    question() {
      asked = { at: ports.now(), since: ports.monotonic() };
      return encode({ t: asked.at, safe: ports.safeIndex() });
    },
    answer(question) {
      const payload = decode(question);
      if (payload === undefined) return NOTHING;
      const { t, safe } = payload;
      if (isNatural(safe)) ports.onSafeIndex(peer, safe);
      return encode({ t, at: ports.now() });
    },
    onAnswer(answer) {
      const payload = decode(answer);
      const { t, at } = payload ?? {};
      if (asked === undefined || t !== asked.at || !isNatural(at)) return;
      const { since } = asked;
      asked = undefined;
      const roundTripMs = Math.max(0, ports.monotonic() - since);
      ports.onClock(peer.nodeId, { atMs: at, monotonicMs: since + roundTripMs / 2, roundTripMs });
    },
  };
}

const NOTHING = new Uint8Array(0);
/** Maximum size of a payload from a peer, which may run a later version; a longer one is ignored. */
const MAX_PAYLOAD_BYTES = 1_024;

const encode = (value: unknown): Uint8Array => Buffer.from(JSON.stringify(value));

/** Parses a payload; `undefined` if it is not a JSON object within the size limit. */
function decode(bytes: Uint8Array): Readonly<Record<string, unknown>> | undefined {
  if (bytes.length === 0 || bytes.length > MAX_PAYLOAD_BYTES) return undefined;
  try {
    const value: unknown = JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("utf8"));
    return isRecord(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function isNatural(value: unknown): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
}
