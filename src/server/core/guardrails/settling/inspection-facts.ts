/** Facts of an inspection for traces: configured names and counts, never a text. */

import type { Judgement } from "../judgement.ts";
import type { GuardResult } from "../population-guard.ts";
import type { JudgedAnswer } from "./judged-answer.ts";
import { formatDecision } from "./settle.ts";

export interface EndedInspection {
  /** Outcome. `error`: a rule or detector failed, and the message is refused. `abandoned`: the client disconnected. */
  readonly outcome: "allow" | "redact" | "deny" | "error" | "abandoned";
  /** Code of an outcome `error`: `policy_error` for a rule, `guardrail_error` for a detector. */
  readonly code?: "policy_error" | "guardrail_error" | undefined;
  readonly segments: number;
  /** Rules that acted, each with its action, in the format of `x-gateway-guardrails`. */
  readonly rules: readonly string[];
  /** Detectors that failed, including those whose failure does not refuse the message. */
  readonly failed: readonly string[];
}

/** Returns the facts of a whole message. `guarded` is `undefined` if the client disconnected before its end. */
export function inspectionFacts(guarded: GuardResult | undefined, segments: number): EndedInspection {
  if (guarded === undefined) return { outcome: "abandoned", segments, rules: [], failed: [] };
  const { judgement, failures } = guarded;
  const isRewritten = judgement?.outcome === "allow" && judgement.rewrites.some((one) => one !== undefined);
  return {
    outcome: isRewritten ? "redact" : (judgement?.outcome ?? "error"),
    code: codeOf(judgement),
    segments,
    rules: judgement?.decisions.map(formatDecision) ?? [],
    failed: failures.map(({ detector }) => detector),
  };
}

/**
 * Returns the facts of an answer that was inspected in any number of pieces. `isAbandoned` is true if the client disconnected before
 * its end.
 */
export function answerFacts(
  { judged, segments, isRewritten }: Pick<JudgedAnswer, "judged" | "segments" | "isRewritten">,
  isAbandoned: boolean,
): EndedInspection {
  const { judgement, failures } = judged.guarded;
  const outcome = judged.isOversize ? "deny" : (judgement?.outcome ?? "error");
  return {
    outcome: isAbandoned ? "abandoned" : outcome === "allow" && isRewritten ? "redact" : outcome,
    code: codeOf(judgement),
    segments,
    rules: judgement?.decisions.map(formatDecision) ?? [],
    failed: failures.map(({ detector }) => detector),
  };
}

const codeOf = (judgement: Judgement | undefined): EndedInspection["code"] =>
  judgement === undefined ? "guardrail_error" : judgement.outcome === "error" ? "policy_error" : undefined;

const WORST: readonly EndedInspection["outcome"][] = ["error", "deny", "abandoned", "redact", "allow"];

/** Combines the facts of several messages of a request: the worst outcome counts. */
export function sumFacts(all: readonly EndedInspection[]): EndedInspection {
  const [first] = all;
  if (first !== undefined && all.length === 1) return first;
  return {
    outcome: WORST.find((outcome) => all.some((one) => one.outcome === outcome)) ?? "abandoned",
    code: all.find(({ outcome }) => outcome === "error")?.code,
    segments: all.reduce((sum, { segments }) => sum + segments, 0),
    rules: [...new Set(all.flatMap(({ rules }) => rules))],
    failed: [...new Set(all.flatMap(({ failed }) => failed))],
  };
}
