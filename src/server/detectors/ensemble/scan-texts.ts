/**
 * Runs one detector over the texts of one request. Remembered texts are not scanned again, texts that another request
 * is scanning are awaited, and the rest is scanned in one call.
 */
import type { QuestionTracer } from "../../../base/index.ts";
import {
  type Detection,
  type Detector,
  DetectorError,
  type DetectorInput,
  type Finding,
  type Segment,
} from "../../core/guardrails/index.ts";
import type { EnsembleMetrics } from "./metrics.ts";
import { contextOf, type ScanCache } from "./scan-cache.ts";
import type { Member } from "./types.ts";

export interface Scanning {
  readonly cache: ScanCache;
  /** Maximum number of cached entries (`cache_entries`); 0 to remember nothing. */
  readonly entries: number;
  /** Scans in progress, by key. */
  readonly scansInProgress: Map<string, Promise<readonly Finding[]>>;
  readonly metrics: EnsembleMetrics;
  /** Returns the time of a monotonic clock with any origin, in milliseconds. */
  readonly now: () => number;
}

/** Text of the request, with its index among the segments. */
export interface IndexedText {
  readonly segmentIndex: number;
  readonly scanned: DetectorInput;
}

export interface ScanRequest {
  /** Returns the signal. Called only for a detector that is not, or may not be, synchronous. */
  readonly signal: () => AbortSignal;
  readonly tracer: QuestionTracer | undefined;
  /** See `RunOptions`. */
  readonly isStreamSegment: boolean;
}

type KnownFindings = readonly Finding[] | undefined | Promise<readonly Finding[]>;

/** Scans the texts, in order. Throws or rejects with a `DetectorError`, or with the signal's reason. */
export function scan(
  { detector, name }: Member,
  texts: readonly IndexedText[],
  all: readonly Segment[],
  scanning: Scanning,
  { signal, tracer, isStreamSegment }: ScanRequest,
): Detection | Promise<Detection> {
  const { cache, entries, scansInProgress, metrics, now } = scanning;
  const keys = keysOf(detector, texts, all, scanning);
  const known: KnownFindings[] = keys.map((key) =>
    key === undefined
      ? undefined
      : (cache.get(key, entries) ?? (isStreamSegment ? undefined : scansInProgress.get(key))),
  );
  const missing: number[] = [];
  for (let at = 0; at < known.length; at++) if (known[at] === undefined) missing.push(at);
  if (entries > 0) countCacheUse(metrics, name, known.length, missing.length);
  const found = (findings: readonly Finding[]): void => {
    if (findings.length > 0) metrics.countFindings(name, findings);
  };
  for (const one of known) if (Array.isArray(one)) found(one);
  const begun = now();
  const scanTexts = (wanted: readonly number[]): Detection | Promise<Detection> => {
    if (wanted.length === 0) return [];
    const scanned = wanted.map((at) => (texts[at] as IndexedText).scanned);
    if (detector.detectSync !== undefined && (isStreamSegment || isShort(scanned, detector.maxSyncUnits))) {
      return detector.detectSync(scanned);
    }
    return detector.detect(scanned, all, signal(), tracer);
  };
  const storeDetection = (detection: Detection): Detection => {
    if (missing.length > 0) metrics.observeDuration(name, (now() - begun) / 1_000);
    if (detection.length !== missing.length)
      throw new DetectorError("failed", "it returned results for another number of texts");
    for (const findings of detection) found(findings);
    missing.forEach((at, i) => {
      const key = keys[at];
      const findings = detection[i] as readonly Finding[];
      known[at] = findings;
      if (key === undefined) return;
      const evicted = cache.put(key, findings, entries);
      if (evicted > 0) metrics.countEvicted(evicted);
    });
    return detection;
  };
  const reading = scanTexts(missing);
  if (!(reading instanceof Promise)) {
    storeDetection(reading);
    return known.some((one) => one instanceof Promise) ? awaitOtherScans(known, scanTexts) : (known as Detection);
  }
  const taken = reading.then(storeDetection);
  missing.forEach((at, i) => {
    const key = keys[at];
    if (key === undefined) return;
    const flight = taken.then((detection) => detection[i] as readonly Finding[]);
    scansInProgress.set(key, flight);
    const forgetScan = (): void => {
      if (scansInProgress.get(key) === flight) scansInProgress.delete(key);
    };
    flight.then(forgetScan, forgetScan);
  });
  return taken.then(() => awaitOtherScans(known, scanTexts));
}

function countCacheUse(
  { countCacheHits, countCacheMisses }: EnsembleMetrics,
  name: string,
  asked: number,
  lacking: number,
): void {
  if (asked > lacking) countCacheHits(name, asked - lacking);
  if (lacking > 0) countCacheMisses(name, lacking);
}

function isShort(texts: readonly DetectorInput[], maxUnits = 0): boolean {
  let units = 0;
  for (const { segment } of texts) units += segment.text.length;
  return units <= maxUnits;
}

/**
 * Returns the keys of the texts. If there are more texts than can be remembered, only the newest, which come last, get
 * a key, since computing one costs as much as scanning a short text.
 */
function keysOf(
  detector: Detector,
  texts: readonly IndexedText[],
  all: readonly Segment[],
  { cache, entries }: Scanning,
): readonly (string | undefined)[] {
  const context = entries === 0 ? "" : contextOf(detector, all);
  const first = texts.length - entries;
  return texts.map(({ scanned }, at) => (at < first ? undefined : cache.keyOf(detector, scanned, context)));
}

/** Awaits scans of other requests. Scans that ended with their request are repeated here, in one call. */
async function awaitOtherScans(
  known: readonly KnownFindings[],
  read: (wanted: readonly number[]) => Detection | Promise<Detection>,
): Promise<Detection> {
  const findings: (readonly Finding[])[] = [];
  const failedIndexes: number[] = [];
  for (const [at, one] of known.entries()) {
    const joined = one instanceof Promise ? await one.catch(() => undefined) : one;
    if (joined === undefined) failedIndexes.push(at);
    findings.push(joined ?? []);
  }
  const again = failedIndexes.length === 0 ? [] : await read(failedIndexes);
  for (const [i, at] of failedIndexes.entries()) findings[at] = again[i] as readonly Finding[];
  return findings;
}

/** Returns the remembered findings of each text; scans nothing. */
export function cachedDetection(
  { detector, name }: Member,
  texts: readonly IndexedText[],
  all: readonly Segment[],
  scanning: Scanning,
): Detection {
  const { cache, entries, metrics } = scanning;
  let lacking = 0;
  const known = keysOf(detector, texts, all, scanning).map((key) => {
    const findings = key === undefined ? undefined : cache.get(key, entries);
    if (findings === undefined) lacking++;
    return findings ?? [];
  });
  countCacheUse(metrics, name, known.length, lacking);
  return known;
}
