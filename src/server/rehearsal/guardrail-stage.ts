/** Applies the guardrail rules of the proposal to the recorded findings of a request. */

import { routeOfKey } from "../core/dialects/index.ts";
import type { GuardrailVariables, RuleWeight } from "../core/guardrails/index.ts";
import { formatDecision } from "../core/guardrails/index.ts";
import {
  endOf,
  FACT,
  type Guarding,
  type RecordedRequest,
  type Resolve,
  readFindings,
  type Step,
} from "../core/rehearsal/index.ts";
import type { EffectiveProfile } from "../dataplane/index.ts";
import { canonicalText } from "./canonical-text.ts";
import type { ConfigurationSide } from "./types.ts";

const PASSED = { kind: "passed" } as const;

interface GuardrailSides {
  readonly inForce: ConfigurationSide;
  readonly proposed: ConfigurationSide;
  readonly isUntouched: (request: RecordedRequest, parts: readonly string[]) => boolean;
}

type Judge = (request: RecordedRequest, effective: EffectiveProfile, resolve: Resolve) => Guarding;

const unknown = (reason: string): Guarding => ({ step: { kind: "unknown", reason }, acted: "" });

export function guardrailStage({ inForce, proposed, isUntouched }: GuardrailSides): Judge {
  const changedDetectorText = describeChangedDetector(inForce, proposed);
  const unchanged = unchangedRuleNames(inForce, proposed);
  const hasSameSettings = settingsWithoutRules(inForce) === settingsWithoutRules(proposed);
  return (request, effective, resolve) => {
    const { name } = effective.profile;
    const guard = proposed.snapshot.guardrails.of(name);
    if (proposed.awaitsModels) return unknown("its detectors are waiting for models");
    if (guard === undefined) return { step: PASSED, acted: "" };
    const isSelected = selectionOf(inForce, name) === selectionOf(proposed, name);
    if (!isSelected) return unknown(`profile \`${name ?? ""}\` has other detectors`);
    const step = resolve("guardrails", { kind: "unknown", reason: "", decidedBy: ["guardrails", "models"] });
    if (step.kind !== "unknown") return { step, acted: step.kind === "passed" ? request.acted : "" };
    if (changedDetectorText !== undefined) return unknown(changedDetectorText);
    if ((request.facts & FACT.requestInspected) === 0) return unknown(NOT_INSPECTED);
    const isKnown = hasSameSettings && isUntouched(request, ["models"]);
    if (!isKnown) return unknown("other guardrails were in force");
    if ((request.facts & FACT.findingsCut) !== 0) return unknown("not all of its findings are recorded");
    return applyRules(request, { guard, effective, unchanged });
  };
}

const NOT_INSPECTED = "its texts were not inspected, but would be now";
const ANSWER_NOT_INSPECTED = "its answer was not inspected, but would be now";

interface RuleContext {
  readonly guard: NonNullable<ReturnType<ConfigurationSide["snapshot"]["guardrails"]["of"]>>;
  readonly effective: EffectiveProfile;
  /** Names of rules that are the same in both configurations. */
  readonly unchanged: ReadonlySet<string>;
}

function applyRules(request: RecordedRequest, { guard, effective, unchanged }: RuleContext): Guarding {
  const findings = readFindings(request.findings);
  const inRequest = findings.filter(({ direction }) => direction === "request");
  const inAnswer = findings.filter(({ direction }) => direction === "response");
  const variables = variablesOf(request, effective);
  const wasForwarded = endOf(request).kind === "forwarded";
  /** Returns whether the rule acted on the recorded request; `unknown` if it has changed or may have acted on the answer. */
  const recordedFires = ({ rule, action }: RuleWeight): RuleWeight["fires"] => {
    const isRecorded = wasForwarded && unchanged.has(rule) && inAnswer.length === 0;
    if (!isRecorded) return "unknown";
    return request.acted.split(", ").includes(formatDecision({ rule, action, controls: [], types: {}, kinds: [] }))
      ? "yes"
      : "no";
  };
  const onRequest = combineWeights(guard.weigh(inRequest, variables), recordedFires);
  if (onRequest.step.kind !== "passed") return onRequest;
  const isMcp = request.traffic === "mcp" || request.traffic === "a2a";
  const readsAnswer = isMcp ? guard.readsAnswers : guard.readsOutput;
  if (!readsAnswer) return onRequest;
  if (!wasForwarded) return unknown(ANSWER_NOT_INSPECTED);
  if ((request.facts & FACT.answerInspected) === 0) return onRequest;
  // In a stream, rules are evaluated with each piece, so the total of findings does not show what they did.
  if (inAnswer.length > 0) return unknown("something was found in its answer");
  const onAnswer = combineWeights(guard.weigh(inAnswer, { ...variables, direction: "response" }), () => "unknown");
  if (onAnswer.step.kind !== "passed") return onAnswer;
  return { step: PASSED, acted: [onRequest.acted, onAnswer.acted].filter((acted) => acted !== "").join(", ") };
}

function combineWeights(
  weights: readonly RuleWeight[],
  recordedFires: (weight: RuleWeight) => RuleWeight["fires"],
): Guarding {
  const acted: string[] = [];
  let redactingRules = 0;
  for (const weight of weights) {
    const { rule, action, reads = "" } = weight;
    const fires = weight.fires === "unknown" ? recordedFires(weight) : weight.fires;
    if (fires === "unknown") return unknown(`guardrail rule \`${rule}\` reads ${reads}`);
    if (fires === "no") continue;
    const refusal = (code: string): Guarding => ({ step: refused(code, rule), acted: "" });
    if (fires === "fault") return refusal("policy_error");
    if (action === "deny") return refusal("guardrail_denied");
    if (action === "redact") redactingRules += 1;
    acted.push(formatDecision({ rule, action, controls: [], types: {}, kinds: [] }));
  }
  // If two rules select the same place, only one rewrites it; places are not recorded, so the result is unknown.
  return redactingRules > 1 ? unknown("several guardrail rules rewrite it") : { step: PASSED, acted: acted.join(", ") };
}

const refused = (code: string, rule: string): Step => ({ kind: "refused", code, by: `guardrail ${rule}` });

/** Returns the variables that the data plane sets. */
function variablesOf(request: RecordedRequest, { variables, profile }: EffectiveProfile): GuardrailVariables {
  const { traffic, to, model, route, method, name } = request;
  const isModel = traffic === "llm" || traffic === "websocket";
  return {
    ...variables,
    direction: "request",
    hop: traffic === "mcp" || traffic === "a2a" ? traffic : "llm",
    profile: profile.name ?? "",
    model: isModel ? model : "",
    route: isModel ? (routeOfKey(route)?.name ?? "") : "",
    server: traffic === "mcp" ? to : "",
    method: isModel ? "" : method,
    name: isModel ? "" : name,
    peer: traffic === "a2a" ? to : "",
  };
}

const selectionOf = ({ document }: ConfigurationSide, profile: string | undefined): string =>
  canonicalText(document.profiles?.find(({ name }) => name === profile)?.guardrails ?? null);

/** Returns a canonical text of the guardrail settings that determine findings, without rules. */
const settingsWithoutRules = ({ document }: ConfigurationSide): string =>
  canonicalText({ ...document.guardrails, rules: [] });

function unchangedRuleNames(inForce: ConfigurationSide, proposed: ConfigurationSide): ReadonlySet<string> {
  const before = new Map(inForce.document.guardrails?.rules?.map((rule) => [rule.name, canonicalText(rule)]));
  const rules = proposed.document.guardrails?.rules ?? [];
  return new Set(rules.filter((rule) => before.get(rule.name) === canonicalText(rule)).map(({ name }) => name));
}

/** Returns why findings are unknown, as a text; `undefined` if the detectors are the same. */
function describeChangedDetector(inForce: ConfigurationSide, proposed: ConfigurationSide): string | undefined {
  const before = inForce.document.guardrails?.detectors ?? [];
  const now = proposed.document.guardrails?.detectors ?? [];
  const nameOf = ({ name, type }: (typeof now)[number]): string => name ?? type;
  for (const detector of now) {
    const same = before.find((it) => nameOf(it) === nameOf(detector));
    if (same === undefined) return `detector \`${nameOf(detector)}\` is new`;
    if (canonicalText(same) !== canonicalText(detector)) return `detector \`${nameOf(detector)}\` is changed`;
  }
  return undefined;
}
