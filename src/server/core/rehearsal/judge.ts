/**
 * Evaluates a recorded request under a proposed configuration.
 *
 * It goes through the stages of the data plane in order. If the record is not sufficient for a stage, the recorded decision
 * stays valid if the proposal changes nothing that the stage reads; otherwise the result is unknown. Nothing is guessed.
 */
import { FACT, type RecordedRequest } from "./recorded-request.ts";

/** Stages in the order in which a request passes them. */
const STAGES = ["caller", "profile", "body", "routing", "rules", "channel", "budget", "guardrails"] as const;
type Stage = (typeof STAGES)[number];

export interface Refusal {
  readonly kind: "refused";
  readonly code: string;
  /** Name of what refused it, such as `rule no-previews`; empty if it has no name. */
  readonly by: string;
}

export interface Unknown {
  readonly kind: "unknown";
  readonly reason: string;
  /**
   * Paths of the document that decide it: if none of them differs, the recorded decision stays valid. `undefined` if the
   * recorded decision does not help.
   */
  readonly decidedBy?: readonly string[];
}

interface Passed {
  readonly kind: "passed";
}

const PASSED: Passed = { kind: "passed" };

export type Step = Passed | Refusal | Unknown;

/** Decision about a request, recorded or rehearsed. */
type Decision =
  | { readonly kind: "forwarded"; readonly to: string; readonly acted: string }
  | Refusal
  | { readonly kind: "unknown"; readonly reason: string };

export type Outcome =
  | { readonly kind: "same" }
  /** Served before, and would be refused. */
  | { readonly kind: "refused"; readonly code: string; readonly by: string }
  /** Refused before, and would be served. */
  | { readonly kind: "served"; readonly was: string }
  | { readonly kind: "other_provider"; readonly to: string }
  | { readonly kind: "other_guardrail"; readonly acted: string }
  | { readonly kind: "unknown"; readonly reason: string };

export interface Judged {
  readonly outcome: Outcome;
  readonly decision: Decision;
}

/** Configuration under which requests are evaluated. */
export interface Proposal {
  /** Returns true if the configuration in force decided the record and nothing differs at or below any of the paths. */
  readonly isUntouched: (request: RecordedRequest, paths: readonly string[]) => boolean;
  /** Evaluates the stages before budgets, up to the first one that does not pass. */
  readonly admit: (request: RecordedRequest, resolve: Resolve) => Admission;
  readonly budget: (request: RecordedRequest, admission: Admission, resolve: Resolve) => Step;
  readonly guardrails: (request: RecordedRequest, resolve: Resolve) => Guarding;
}

/** Replaces an unknown step by the recorded decision if that is still valid. */
export type Resolve = (stage: Stage, step: Step) => Step;

export interface Admission {
  readonly step: Step;
  /** First admitted provider, or the server or agent; empty if there is none. */
  readonly to: string;
}

export interface Guarding {
  readonly step: Step;
  /** Rules that act, in the format of `x-gateway-guardrails`. */
  readonly acted: string;
}

type End = { readonly kind: "forwarded" } | (Refusal & { readonly stage: Stage }) | { readonly kind: "other" };

const STAGE_OF: Readonly<Record<string, Stage>> = {
  unauthenticated: "caller",
  model_not_found: "routing",
  not_found: "routing",
  model_not_allowed: "rules",
  no_pool_subset: "rules",
  fidelity_loss: "channel",
  thread_not_found: "channel",
  budget_exhausted: "budget",
  guardrail_denied: "guardrails",
};

/** Codes of a forwarded request: the outcome at its upstream is not a decision of the configuration. */
const UPSTREAM: ReadonlySet<string> = new Set([
  "",
  "upstream_unreachable",
  "upstream_timeout",
  "upstream_incomplete",
  "upstream_invalid",
  "upstream_redirect",
  "credential_unavailable",
  "token_exchange_refused",
]);

/** Returns the stage that ended the recorded request. */
export function endOf({ code, by, facts, traffic, routed, to }: RecordedRequest): End {
  if (UPSTREAM.has(code)) return (facts & FACT.isAdmitted) !== 0 ? { kind: "forwarded" } : { kind: "other" };
  const refused = (stage: Stage): End => ({ kind: "refused", stage, code, by });
  if (code === "policy_denied" || code === "policy_error") {
    if (code === "policy_error" && by.startsWith("guardrail ")) return refused("guardrails");
    const isEarly = traffic === "llm" || traffic === "websocket" ? routed === "" : to === "";
    return refused(isEarly ? "profile" : "rules");
  }
  if (code === "body_too_large") return refused(by.startsWith("guardrail ") ? "guardrails" : "body");
  const stage = STAGE_OF[code];
  return stage === undefined ? { kind: "other" } : refused(stage);
}

/** Returns the recorded step of a stage, or `undefined` if the request did not reach it. */
function recordedAt(stage: Stage, end: End): Step | undefined {
  if (end.kind === "forwarded") return PASSED;
  if (end.kind === "other") return undefined;
  const [asked, ended] = [STAGES.indexOf(stage), STAGES.indexOf(end.stage)];
  if (asked < ended) return PASSED;
  return asked === ended ? { kind: "refused", code: end.code, by: end.by } : undefined;
}

/** Compares what the proposed configuration would do with a recorded request with what was done. */
export function judge(request: RecordedRequest, proposal: Proposal): Judged {
  const end = endOf(request);
  const resolve: Resolve = (stage, step) => {
    if (step.kind !== "unknown" || step.decidedBy === undefined) return step;
    return proposal.isUntouched(request, step.decidedBy) ? (recordedAt(stage, end) ?? step) : step;
  };
  if (end.kind === "other") {
    // The recorded outcome was not decided by the document, so it is the same only if nothing in the document differs.
    const { code } = request;
    const reason =
      code === "" ? "it ended before a decision" : `\`${code}\` decided it, which does not depend on the document`;
    const isSame = proposal.isUntouched(request, [""]);
    const outcome: Outcome = isSame ? { kind: "same" } : { kind: "unknown", reason };
    return { outcome, decision: { kind: "unknown", reason } };
  }
  const decision = decide(request, proposal, resolve);
  return { decision, outcome: compare(request, end, decision) };
}

function decide(request: RecordedRequest, proposal: Proposal, resolve: Resolve): Decision {
  const admission = proposal.admit(request, resolve);
  if (admission.step.kind !== "passed") {
    proposal.budget(request, admission, resolve);
    return decisionOf(admission.step);
  }
  const budget = proposal.budget(request, admission, resolve);
  if (budget.kind !== "passed") return decisionOf(budget);
  const { step, acted } = proposal.guardrails(request, resolve);
  return step.kind === "passed" ? { kind: "forwarded", to: admission.to, acted } : decisionOf(step);
}

const decisionOf = (step: Refusal | Unknown): Decision =>
  step.kind === "refused" ? step : { kind: "unknown", reason: step.reason };

function compare(request: RecordedRequest, end: Exclude<End, { kind: "other" }>, decision: Decision): Outcome {
  if (decision.kind === "unknown") return decision;
  if (decision.kind === "refused") {
    return end.kind === "refused"
      ? { kind: "same" }
      : { kind: "refused", code: decision.code, by: decision.by === "" ? decision.code : decision.by };
  }
  if (end.kind === "refused") return { kind: "served", was: end.by === "" ? end.code : end.by };
  if (decision.to !== request.to) return { kind: "other_provider", to: decision.to };
  if (sorted(decision.acted) !== sorted(request.acted)) return { kind: "other_guardrail", acted: decision.acted };
  return { kind: "same" };
}

/** Sorts the rules that act, since their order is not a difference. */
const sorted = (acted: string): string => acted.split(", ").sort().join(", ");
