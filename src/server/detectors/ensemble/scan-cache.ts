/**
 * What detectors found in texts seen before: a conversation repeats its earlier turns with each request, so that only the
 * newest one is work. Source: guardrails reference, 6.
 *
 * Keys are digests under a secret of this process, so that nobody can confirm a guess by what is in memory; values are places
 * and scores, never a text. It outlives a reload: what a finding depends on is in the detector's fingerprint.
 */
import { createHmac, hash, randomBytes } from "node:crypto";
import type { Detector, Finding, Scanned, Segment } from "../../core/guardrails/index.ts";

/** In UTF-16 units; a longer text is read anew each time. */
export const MAX_REMEMBERED = 256 << 10;

/** A text with more findings is read anew each time: what is remembered of a text is so bounded too, to some 30 KB. */
export const MOST_FINDINGS_REMEMBERED = 256;

const SEPARATOR = "\0";

/** Of what is held, the part that is evicted at once: the oldest are found by going over those that are gone already. */
const EVICTED_SHARE = 1 / 32;

/** Of `cache_entries`: what was used within so many uses keeps its place, and is still far from being the oldest. */
const RECENT_SHARE = 1 / 4;

interface Held {
  readonly findings: readonly Finding[];
  /** Count of all uses as it was at the one that gave it its place. */
  usedAt: number;
}

export interface ScanCache {
  /** Undefined: a text that is not remembered, since it is too long or no Unicode. */
  keyOf(detector: Detector, scanned: Scanned, context: string): string | undefined;
  /** `entries`: most that are held, now, as with `put`. */
  get(key: string, entries: number): readonly Finding[] | undefined;
  /** Returns how many made room. */
  put(key: string, findings: readonly Finding[], entries: number): number;
}

export function createScanCache(secret: Buffer = randomBytes(32)): ScanCache {
  const prefix = secret.toString("base64");
  /** In the order of their last use, but for the most recent ones among themselves. */
  const held = new Map<string, Held>();
  let uses = 0;
  return {
    keyOf({ fingerprint }, { segment, windows }, context) {
      const { text, kind, ref } = segment;
      if (text.length > MAX_REMEMBERED || !text.isWellFormed()) return undefined;
      const parts = windows === undefined ? "" : windows.map(({ start, end }) => `${start}-${end}`).join();
      // The secret first, and no digest is ever shown: as good as an HMAC here, at half its cost.
      return hash("sha256", [prefix, fingerprint, kind, ref, parts, context, text].join(SEPARATOR), "base64");
    },
    get(key, entries) {
      const known = held.get(key);
      if (known === undefined) return undefined;
      if (++uses - known.usedAt > entries * RECENT_SHARE) {
        held.delete(key);
        known.usedAt = uses;
        held.set(key, known);
      }
      return known.findings;
    },
    put(key, findings, entries) {
      if (entries === 0 || findings.length > MOST_FINDINGS_REMEMBERED) return 0;
      held.delete(key);
      held.set(key, { findings, usedAt: ++uses });
      if (held.size <= entries) return 0;
      const kept = entries - Math.floor(entries * EVICTED_SHARE);
      let evicted = 0;
      for (const oldest of held.keys()) {
        if (held.size <= kept) break;
        held.delete(oldest);
        evicted++;
      }
      return evicted;
    },
  };
}

/** What a verdict depends on beside its own text: the segments that the detector reads with it, in their order. */
export function contextOf({ readsContext }: Detector, all: readonly Segment[]): string {
  if (readsContext.length === 0) return "";
  const read = all.filter(({ kind }) => readsContext.includes(kind));
  const digest = createHmac("sha256", "context");
  for (const { kind, text } of read) digest.update(`${kind}\0${text.length}\0${text}`, "utf16le");
  return digest.digest("hex");
}
