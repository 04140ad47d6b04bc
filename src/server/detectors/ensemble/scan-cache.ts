/**
 * Cache of findings by text. A conversation repeats its earlier turns with each request, so only the newest one is
 * work. Source: guardrails reference, 6.
 *
 * Keys are digests with a secret of this process, so that a guess cannot be confirmed from memory; values are positions
 * and scores, never text. The cache survives reloads, since the detector's fingerprint covers everything that a finding
 * depends on.
 */
import { createHmac, hash, randomBytes } from "node:crypto";
import type { Detector, DetectorInput, Finding, Segment } from "../../core/guardrails/index.ts";

/** Maximum length of a cached text in UTF-16 units; a longer one is scanned each time. */
const MAX_CACHED_UNITS = 256 << 10;

/**
 * Maximum number of findings of a cached text, which limits an entry to about 30 KB. A text with more is scanned each
 * time.
 */
const MAX_CACHED_FINDINGS = 256;

const SEPARATOR = "\0";

/** Fraction of the entries that is evicted at once, since searching for the oldest entry passes over deleted ones. */
const EVICTED_SHARE = 1 / 32;

/**
 * Fraction of `cache_entries`. An entry that was used within this many uses keeps its position, since it is still far
 * from the oldest.
 */
const RECENT_SHARE = 1 / 4;

interface CacheEntry {
  readonly findings: readonly Finding[];
  /** Number of all uses at the time when the entry got its position. */
  usedAt: number;
}

export interface ScanCache {
  /** Returns the key of a text; `undefined` if the text is not cached because it is too long or not well-formed Unicode. */
  keyOf(detector: Detector, scanned: DetectorInput, context: string): string | undefined;
  /** Returns the findings of a text, if cached. `entries`: current maximum of entries, as for `put`. */
  get(key: string, entries: number): readonly Finding[] | undefined;
  /** Adds the findings of a text. Returns the number of evicted entries. */
  put(key: string, findings: readonly Finding[], entries: number): number;
}

export function createScanCache(secret: Buffer = randomBytes(32)): ScanCache {
  const prefix = secret.toString("base64");
  /** Entries by last use; the most recent ones may be out of order. */
  const held = new Map<string, CacheEntry>();
  let uses = 0;
  return {
    keyOf({ fingerprint }, { segment, windows }, context) {
      const { text, kind, ref } = segment;
      if (text.length > MAX_CACHED_UNITS || !text.isWellFormed()) return undefined;
      const parts = windows === undefined ? "" : windows.map(({ start, end }) => `${start}-${end}`).join();
      // The secret comes first, and no digest is ever shown, so this is as good as an HMAC at half its cost.
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
      if (entries === 0 || findings.length > MAX_CACHED_FINDINGS) return 0;
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

/** Returns the segments, in order, that a verdict depends on in addition to its own text. */
export function contextOf({ readsContext }: Detector, all: readonly Segment[]): string {
  if (readsContext.length === 0) return "";
  const read = all.filter(({ kind }) => readsContext.includes(kind));
  const digest = createHmac("sha256", "context");
  for (const { kind, text } of read) digest.update(`${kind}\0${text.length}\0${text}`, "utf16le");
  return digest.digest("hex");
}
