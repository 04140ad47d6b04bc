/**
 * Compiles `guardrails.detectors[]` to the ensemble. Source: specification document 3, `guardrails.detectors[]` (common keys).
 */
import { parseDuration } from "../../../base/index.ts";
import type { DetectorConfig, Guardrails } from "../../core/config/index.ts";
import { type Detector, REQUEST_KINDS, type SegmentKind } from "../../core/guardrails/index.ts";
import { createBackground } from "./background.ts";
import { DEFAULT_TIMEOUT_MS } from "./limit.ts";
import { type EnsembleMetrics, NO_METRICS } from "./metrics.ts";
import { run } from "./run.ts";
import { createStretchReader } from "./run-here.ts";
import { createScanCache, type ScanCache } from "./scan-cache.ts";
import type { Scanning } from "./scan-texts.ts";
import type { Ensemble, EnsembleProblem, Member } from "./types.ts";

const DEFAULT_CONFIRM_WINDOW = 96;
/** Kinds of segments that `llm` detectors read by default. Source: specification document 3, `apply_to`. */
const JUDGED_KINDS: readonly SegmentKind[] = ["user", "tool_result"];

export type Built =
  | { readonly kind: "detector"; readonly detector: Detector }
  /** Problems of the configuration; their paths begin at the detector. */
  | { readonly kind: "refused"; readonly problems: readonly EnsembleProblem[] };

/**
 * Function that builds a detector of its type; the ensemble knows only the common keys. `name` is the configured name,
 * or the type.
 */
export type BuildDetector = (config: DetectorConfig, name: string, guardrails: Guardrails) => Built;

export interface EnsembleOptions {
  readonly build: BuildDetector;
  /** Cache of findings; if omitted, a new one, which a reload loses. */
  readonly cache?: ScanCache;
  readonly metrics?: EnsembleMetrics;
}

export type CompiledEnsemble =
  | { readonly kind: "ensemble"; readonly ensemble: Ensemble }
  | { readonly kind: "refused"; readonly ensemble?: undefined; readonly problems: readonly EnsembleProblem[] };

export function compileEnsemble(guardrails: Guardrails, options: EnsembleOptions): CompiledEnsemble {
  const problems: EnsembleProblem[] = [];
  const members: Member[] = [];
  for (const [at, config] of guardrails.detectors.entries()) {
    const path = ["guardrails", "detectors", at];
    const name = config.name ?? config.type;
    if (members.some((member) => member.name === name)) {
      problems.push({ path, message: `an earlier detector has the name \`${name}\` too; give it a \`name\`` });
    }
    problems.push(
      ...scheduleProblems(config, guardrails).map(({ path: below, message }) => ({
        path: [...path, ...below],
        message,
      })),
    );
    const built = options.build(config, name, guardrails);
    if (built.kind === "detector") members.push(memberOf(config, name, built.detector, guardrails));
    else problems.push(...built.problems.map((it) => ({ ...it, path: [...path, ...it.path] })));
  }
  if (problems.length > 0) return { kind: "refused", problems };
  const { max_in_flight: maxInFlight = 4, timeout = "30s" } = guardrails.async ?? {};
  const scanning: Scanning = {
    cache: options.cache ?? createScanCache(),
    entries: guardrails.cache_entries,
    scansInProgress: new Map(),
    metrics: options.metrics ?? NO_METRICS,
    now: () => performance.now(),
  };
  return {
    kind: "ensemble",
    ensemble: Object.freeze({
      members: Object.freeze(members),
      run: (segments, runOptions) => run(members, segments, runOptions, scanning),
      stretchReader: (names) => createStretchReader(members, names, scanning),
      runLater: createBackground(members, { maxInFlight, timeoutMs: durationMs(timeout) }, scanning),
    } satisfies Ensemble),
  };
}

function scheduleProblems(config: DetectorConfig, { cache_entries: entries }: Guardrails): readonly EnsembleProblem[] {
  const { schedule } = config;
  const found: EnsembleProblem[] = [];
  if (schedule === "async" && entries === 0) {
    const message =
      "`async` findings take effect in the next turn through the cache, which `cache_entries: 0` turns off";
    found.push({ path: ["schedule"], message });
  }
  return found;
}

/** Returns the kinds of segments that a detector reads. */
export const kindsOf = ({ apply_to: kinds, type }: DetectorConfig): readonly SegmentKind[] =>
  kinds ?? (type === "llm" ? JUDGED_KINDS : REQUEST_KINDS);

function memberOf(config: DetectorConfig, name: string, detector: Detector, guardrails: Guardrails): Member {
  const { score_threshold: least = 0, agreement_boost: boost } = guardrails;
  return Object.freeze({
    detector,
    name,
    mode: config.mode,
    schedule: config.schedule,
    role: config.role,
    kinds: new Set(kindsOf(config)),
    confirmWindow: config.confirm_window ?? DEFAULT_CONFIRM_WINDOW,
    narrowsSpans: config.narrow_spans ?? false,
    threshold: config.threshold ?? 0,
    floor: least - boost,
    timeoutMs: config.timeout === undefined ? undefined : durationMs(config.timeout),
    failsClosed: config.on_error === "fail_closed",
  });
}

/** Returns a duration in milliseconds. It was validated when the document was read. */
const durationMs = (text: string): number => parseDuration(text) ?? DEFAULT_TIMEOUT_MS;
