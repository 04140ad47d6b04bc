/** Metrics of guardrails by rule. Names come from the configuration; `what` from a fixed list. */
import type { Instruments, Log } from "../../../../base/index.ts";

export interface GuardrailMetrics {
  countDecision(rule: string, action: "deny" | "redact" | "annotate"): void;
  countRuleError(rule: string, error: string): void;
  uninspected(what: string): void;
  /** Counts values whose format `fpe` could not keep. */
  countDomainsTooSmall(count: number): void;
  /** Records the maximum number of bytes of text that a streamed answer held back at once. */
  observeHeldBytes(bytes: number): void;
  /** Counts text of a stream that was released although a finding of the detector may have been in progress. */
  countUnproven(detector: string): void;
  /** Counts an answer, or a text of one, that exceeds the inspection limit. */
  countOversize(): void;
  /** Logs a failure at most once a minute per detector. `isFatal` is true if the request was refused because of it. */
  logDetectorFailure(failure: DetectorFailure): void;
}

interface DetectorFailure {
  readonly detector: string;
  readonly kind: string;
  /** Reason that contains no inspected text; may be empty. */
  readonly reason: string;
  readonly isFatal: boolean;
}

/** Bounds of the histogram, in bytes. The default of `max_hold_bytes` is 512, that of `response.max_body_bytes` 1 MiB. */
const HELD_BOUNDS_BYTES: readonly number[] = [16, 64, 128, 256, 512, 1_024, 4_096, 65_536, 1_048_576];

const QUIET_MS = 60_000;

/** Registers the metrics. `monotonic` returns milliseconds. */
export function createGuardrailMetrics(
  instruments: Instruments,
  log: Pick<Log, "warn">,
  monotonic: () => number,
): GuardrailMetrics {
  const decisions = instruments.counter(
    "gateway_guardrail_decisions_total",
    "Requests and answers that a guardrail rule denied, redacted or annotated.",
    ["rule", "action"],
  );
  const errors = instruments.counter(
    "gateway_guardrail_rule_errors_total",
    "Errors while guardrail rules were evaluated.",
    ["rule", "error"],
  );
  const uninspected = instruments.counter(
    "gateway_guardrail_uninspected_total",
    "Parts of messages that guardrails did not inspect: images, audio, files, and bodies of unsupported types.",
    ["what"],
  );
  const domains = instruments.counter(
    "gateway_guardrail_fpe_domain_too_small_total",
    "Values that were too short for `fpe` to keep their format and were replaced in another way.",
  );
  const held = instruments.histogram(
    "gateway_guardrail_stream_held_bytes",
    "Maximum bytes of one streamed answer that were held back at once.",
    HELD_BOUNDS_BYTES,
  );
  const unproven = instruments.counter(
    "gateway_guardrail_stream_unproven_total",
    "Streamed text that was released because of `guardrails.stream.max_hold_bytes`, although a finding was still possible.",
    ["detector"],
  );
  const oversize = instruments.counter(
    "gateway_guardrail_response_oversize_total",
    "Answers longer than `guardrails.response.max_body_bytes`. `on_oversize` decides whether they pass.",
  );
  /** Time before which nothing is logged, by detector. Its size is bounded by the number of configured detectors. */
  const quiet = new Map<string, number>();
  return {
    countDecision: (rule, action) => decisions.with(rule, action).inc(),
    countRuleError: (rule, error) => errors.with(rule, error).inc(),
    uninspected: (what) => uninspected.with(what).inc(),
    countDomainsTooSmall: (count) => domains.with().inc(count),
    observeHeldBytes: (bytes) => held.with().observe(bytes),
    countUnproven: (detector) => unproven.with(detector).inc(),
    countOversize: () => oversize.with().inc(),
    logDetectorFailure({ detector, kind, reason, isFatal }) {
      const now = monotonic();
      if (now < (quiet.get(detector) ?? 0)) return;
      quiet.set(detector, now + QUIET_MS);
      const failureLabels = { detector, kind, ...(reason !== "" && { reason }) };
      if (isFatal) log.warn("a detector failed, and requests are refused for it", failureLabels);
      else log.warn("a detector failed, and requests go on without it: `on_error: fail_open`", failureLabels);
    },
  };
}
