/** The detector of type `pii`, compiled from its configuration. Source: specification document 3, `guardrails.detectors[]`. */

import { createHash } from "node:crypto";
import type { DetectorConfig } from "../../core/config/index.ts";
import type { Detection, Detector, DetectorInput, Finding, Horizon } from "../../core/guardrails/index.ts";
import { compilePii, type PiiProblem } from "./compile-pii.ts";
import { horizonOf } from "./match-length-bounds.ts";
import type { Scan } from "./pii-scan.ts";
import type { ScanPool } from "./pool/index.ts";
import { warmUp } from "./warm-up.ts";

/**
 * Maximum number of UTF-16 units, over all texts of a call, that are scanned on this thread. They take half a
 * millisecond, about as long as passing them to another thread.
 */
export const UNITS_AT_ONCE = 2 << 10;

type BuiltPiiDetector =
  | {
      readonly kind: "detector";
      readonly detector: Detector;
      /** Every `<category>/<LABEL>` that the detector can find. */
      readonly gives: readonly string[];
      /** Returns an iterator whose steps bring scans on this thread to full speed. */
      readonly warmUp: () => Iterator<void>;
    }
  /** Problems of the configuration; their paths begin at the detector. */
  | { readonly kind: "refused"; readonly problems: readonly PiiProblem[] };

/**
 * Creates the detector. `usesContext` is `guardrails.context_enhancement`. `pool` scans texts longer than
 * `UNITS_AT_ONCE`; without it, all are scanned on this thread. The detector has a horizon if it applies to `output`.
 */
export function createPiiDetector(
  config: DetectorConfig,
  name: string,
  usesContext: boolean,
  pool?: ScanPool,
): BuiltPiiDetector {
  const compiled = compilePii(config, usesContext);
  if (compiled.kind === "refused") return compiled;
  const { recognizers, scan, scanDisproved } = compiled;
  // The horizon is only computed if streams need it, because that takes half a second at the start.
  const horizon = config.apply_to?.includes("output") ? horizonOf(recognizers) : undefined;
  const gives = new Set(recognizers.map(({ category, entity }) => `${category}/${entity}`));
  const fingerprint = fingerprintOf(config, usesContext);
  const detector = Object.freeze({
    ...detectorOf(name, scan, horizon, fingerprint, pool),
    disprovedMatches: (text: string) => scanDisproved()(text),
  });
  pool?.keep(fingerprint, { config, usesContext }, detector);
  return { kind: "detector", detector, gives: [...gives], warmUp: () => warmUp(recognizers, scan) };
}

function detectorOf(
  name: string,
  scan: Scan,
  horizon: Horizon | undefined,
  fingerprint: string,
  pool: ScanPool | undefined,
): Detector {
  const detectSync = (texts: readonly DetectorInput[]): Detection =>
    texts.map((scanned) => withinWindows(scan(scanned.segment.text), scanned));
  const unitsAtOnce = pool === undefined ? Number.POSITIVE_INFINITY : UNITS_AT_ONCE;
  return {
    name,
    type: "pii",
    fingerprint,
    readsContext: [],
    detect(texts, _all, signal) {
      signal.throwIfAborted();
      if (pool === undefined || unitsOf(texts) <= UNITS_AT_ONCE) return detectSync(texts);
      const strings = texts.map(({ segment }) => segment.text);
      return pool
        .scan(fingerprint, strings, signal)
        .then((found) => texts.map((scanned, at) => withinWindows(found[at] ?? [], scanned)));
    },
    detectSync,
    maxSyncUnits: unitsAtOnce,
    horizon,
  };
}

const unitsOf = (texts: readonly DetectorInput[]): number =>
  texts.reduce((sum, { segment }) => sum + segment.text.length, 0);

/**
 * Returns the findings within the windows. The whole text is scanned, because words before a window and characters at
 * its edges matter.
 */
function withinWindows(found: readonly Finding[], { windows }: DetectorInput): readonly Finding[] {
  if (windows === undefined) return found;
  return found.filter(({ start, end }) => windows.some((window) => window.start <= start && window.end >= end));
}

/** Returns a digest of all settings that findings depend on. The program's version is left out, since no cache outlives it. */
function fingerprintOf(config: DetectorConfig, usesContext: boolean): string {
  const { entities, recognizers, custom_recognizers: custom, phone_regions: regions, prefilter } = config;
  const read = JSON.stringify({ type: "pii", entities, recognizers, custom, regions, prefilter, usesContext });
  return createHash("sha256").update(read).digest("hex");
}
