/**
 * Rows of `guardrails`, which are the detectors and rules of the running configuration with this process's counts, and
 * rehearsals with texts.
 */
import type { Instruments } from "../../../base/index.ts";
import { type GuardrailRecord, type Guardrails, type RowArrayOf, refusal } from "../../admin/index.ts";
import type { DetectorInForce, RuleInForce, Snapshot } from "../../snapshot/index.ts";
import type { Configuration } from "../configuration/configuration-types.ts";

const NOTIFY_EVERY_MS = 1_000;
/** Number of hex digits of a fingerprint that are enough to distinguish two detectors. */
const FINGERPRINT_DIGITS = 12;
/** Maximum number of concurrent rehearsals; they share the scanning threads with requests. */
const MAX_REHEARSALS = 8;

type Row = Omit<GuardrailRecord, "node">;

export function guardrailsPort(
  configuration: Pick<Configuration, "running" | "onChange">,
  instruments: Pick<Instruments, "read">,
): Guardrails & RowArrayOf<"guardrails"> {
  const listeners = new Set<() => void>();
  let snapshot: Snapshot | undefined;
  let timer: NodeJS.Timeout | undefined;
  let rehearsals = 0;

  const notifyListeners = (): void => {
    for (const listener of [...listeners]) listener();
  };
  const follow = (): void => {
    const compiled = configuration.running()?.compiled;
    if (compiled?.kind !== "compiled" || compiled.snapshot === snapshot) return;
    snapshot = compiled.snapshot;
    notifyListeners();
  };
  follow();
  configuration.onChange(follow);
  const begin = (): void => {
    let lastCounts = JSON.stringify(countsOf(instruments));
    timer = setInterval(() => {
      const now = JSON.stringify(countsOf(instruments));
      if (now === lastCounts) return;
      lastCounts = now;
      notifyListeners();
    }, NOTIFY_EVERY_MS).unref();
  };

  return {
    list() {
      if (snapshot === undefined) return [];
      const { detectors, rules } = snapshot.guardrails.inForce;
      if (detectors.length + rules.length === 0) return [];
      const counts = countsOf(instruments);
      return [...detectors.map((it) => detectorRow(it, counts)), ...rules.map((it) => ruleRow(it, counts))];
    },
    async rehearse(question, signal) {
      if (snapshot === undefined) throw refusal("busy", "No configuration is in force yet.");
      if (rehearsals >= MAX_REHEARSALS) throw refusal("busy", "Other texts are being inspected; try again.");
      rehearsals += 1;
      try {
        return await snapshot.guardrails.rehearse(question, signal);
      } finally {
        rehearsals -= 1;
      }
    },
    onChange(listener) {
      listeners.add(listener);
      if (listeners.size === 1) begin();
      return () => {
        if (listeners.delete(listener) && listeners.size === 0) clearInterval(timer);
      };
    },
  };
}

/** Counts by metric and name (the first label), summed over all other labels. */
type Counts = Readonly<Record<Counted, Readonly<Record<string, number>>>>;

const COUNTED = {
  decisions: "gateway_guardrail_decisions_total",
  ruleErrors: "gateway_guardrail_rule_errors_total",
  detectorErrors: "gateway_detector_errors_total",
  hits: "gateway_detector_cache_hits_total",
  misses: "gateway_detector_cache_misses_total",
} as const;

type Counted = keyof typeof COUNTED;

function countsOf(instruments: Pick<Instruments, "read">): Counts {
  const readings = instruments.read();
  const of = (name: string): Readonly<Record<string, number>> => {
    const sums: Record<string, number> = Object.create(null) as Record<string, number>;
    const reading = readings.find((one) => one.name === name);
    if (reading === undefined || reading.kind === "histogram") return sums;
    for (const { labelValues, value } of reading.series) {
      const [own = ""] = labelValues;
      sums[own] = (sums[own] ?? 0) + value;
    }
    return sums;
  };
  return Object.fromEntries(Object.entries(COUNTED).map(([key, name]) => [key, of(name)])) as Counts;
}

const detectorRow = (it: DetectorInForce, { detectorErrors, hits, misses }: Counts): Row => ({
  kind: "detector",
  name: it.name,
  type: it.type,
  mode: it.mode,
  schedule: it.schedule,
  role: it.role,
  kinds: it.kinds,
  threshold: it.threshold,
  timeout_ms: it.timeoutMs ?? null,
  on_error: it.failsClosed ? "fail_closed" : "fail_open",
  entities: it.entities ?? null,
  recognizers: it.customRecognizers,
  requires: null,
  operator: null,
  controls: [],
  exempt: it.exempt,
  fingerprint: it.fingerprint.slice(0, FINGERPRINT_DIGITS),
  horizon_bytes: it.horizonBytes ?? null,
  decisions: null,
  errors: detectorErrors[it.name] ?? 0,
  texts_read: misses[it.name] ?? 0,
  texts_remembered: hits[it.name] ?? 0,
});

const ruleRow = (it: RuleInForce, { decisions, ruleErrors }: Counts): Row => ({
  kind: "rule",
  name: it.name,
  type: it.action,
  mode: null,
  schedule: null,
  role: null,
  kinds: it.kinds ?? null,
  threshold: null,
  timeout_ms: null,
  on_error: it.failsOpen ? "fail_open" : "fail_closed",
  entities: null,
  recognizers: [],
  requires: it.requires ?? null,
  operator: it.action === "redact" ? it.operator : null,
  controls: it.controls,
  exempt: it.exempt,
  fingerprint: null,
  horizon_bytes: null,
  decisions: decisions[it.name] ?? 0,
  errors: ruleErrors[it.name] ?? 0,
  texts_read: null,
  texts_remembered: null,
});
