/** A proposed configuration beside the one in force, for judging recorded requests. */
import { GatewayError } from "../../base/index.ts";
import type { Caller } from "../auth/index.ts";
import { a2aVariables, mcpVariables } from "../core/policy/variables/index.ts";
import {
  type Admission,
  endOf,
  FACT,
  type Guarding,
  type Proposal,
  type RecordedRequest,
  type Resolve,
  type Step,
} from "../core/rehearsal/index.ts";
import { type EffectiveProfile, effectiveProfileOf } from "../dataplane/index.ts";
import { rulesStep } from "./access-stage.ts";
import { admitModel, admittedNames } from "./admit-model.ts";
import { type BudgetSides, budgetStage } from "./budget-stage.ts";
import type { EarlierRoute } from "./channels.ts";
import { compareDocuments } from "./compare-documents.ts";
import { guardrailStage } from "./guardrail-stage.ts";
import { createRecognizer } from "./recorded-callers.ts";
import type { ConfigurationSide, CurrentKey } from "./types.ts";

export interface ProposalInput extends Pick<BudgetSides, "requests" | "since" | "buckets" | "now"> {
  readonly inForce: ConfigurationSide;
  readonly proposed: ConfigurationSide;
  /** Keys by id. */
  readonly keys: ReadonlyMap<string, CurrentKey>;
}

interface OpenProposal extends Proposal {
  /** Returns the caller's display name. */
  readonly callerName: (request: RecordedRequest) => string;
}

const PASSED = { kind: "passed" } as const;

export function openProposal(input: ProposalInput): OpenProposal {
  const { inForce, proposed, keys } = input;
  const difference = compareDocuments(inForce, proposed);
  const [recognizeThen, recognizeNow] = [createRecognizer(inForce, keys), createRecognizer(proposed, keys)];
  const callerOf = (side: ConfigurationSide, request: RecordedRequest): Caller | undefined =>
    (side === inForce ? recognizeThen : recognizeNow)(request).caller;
  const isUntouched = ({ configuration }: RecordedRequest, parts: readonly string[]): boolean =>
    configuration === inForce.snapshot.digest && !parts.some(difference.isChanged);
  const guardrails = guardrailStage({ inForce, proposed, isUntouched });
  const budget = budgetStage({ ...input, callerOf, isUntouched });

  const admit = (request: RecordedRequest, resolve: Resolve): Admission => {
    const stopAt = (step: Step): Admission => ({ step, to: "" });
    const { caller, step } = recognizeNow(request);
    const recognized = resolve("caller", step);
    if (recognized.kind !== "passed") return stopAt(recognized);
    if (caller === undefined) return stopAt({ kind: "unknown", reason: "its caller was not recognized" });
    const effective = effectiveProfileIn(caller, proposed);
    if ("kind" in effective) return stopAt(effective);
    const body = resolve("body", bodyStep(request, proposed));
    if (body.kind !== "passed") return stopAt(body);
    if ((request.facts & FACT.isCut) !== 0) return stopAt(recordedStep(request, "a name in it was too long to record"));
    switch (request.traffic) {
      case "llm":
        return admitModelRequest(request, effective, resolve);
      case "mcp":
      case "a2a":
        return admitCall(request, effective, proposed, resolve);
      case "websocket":
        return { step: recordedStep(request, "it is a WebSocket session"), to: request.to };
      default:
        return stopAt(recordedStep(request, "it ended before it was routed"));
    }
  };

  /** Takes over the recorded decision if no difference between the documents affects it; otherwise the result is unknown. */
  const recordedStep = (request: RecordedRequest, reason: string): Step => {
    const end = endOf(request);
    if (!isUntouched(request, [""]) || end.kind === "other") return { kind: "unknown", reason };
    return end.kind === "forwarded" ? PASSED : end;
  };

  const admitModelRequest = (request: RecordedRequest, effective: EffectiveProfile, resolve: Resolve): Admission => {
    const judging = { request, effective, resolve, snapshot: proposed.snapshot, before: earlierRouteOf(request) };
    const admission = admitModel(judging);
    const { provider, to } = request;
    // The rest is for requests whose first provider failed and that another one served.
    if (admission.step.kind !== "passed" || provider === "" || provider === to) return admission;
    const earlier = recognizeThen(request).caller;
    const effectiveThen = earlier && effectiveProfileIn(earlier, inForce);
    if (effectiveThen === undefined || "kind" in effectiveThen)
      return { step: SERVED_AFTER_FAILOVER, to: admission.to };
    const before = { ...judging, effective: effectiveThen, snapshot: inForce.snapshot };
    const isAlike = admittedNames(before)?.join("\n") === admittedNames(judging)?.join("\n");
    return isAlike && isUntouched(request, ["providers"])
      ? admission
      : { step: SERVED_AFTER_FAILOVER, to: admission.to };
  };

  const earlierRouteOf = (request: RecordedRequest): EarlierRoute | undefined => {
    if (request.configuration !== inForce.snapshot.digest) return undefined;
    const caller = recognizeThen(request).caller;
    const end = endOf(request);
    const name = request.to === "" && end.kind === "refused" && end.stage === "channel" ? request.routed : request.to;
    return {
      name,
      profile: caller && inForce.snapshot.governance.profile(caller.profile),
      provider: inForce.snapshot.byName.get(name),
    };
  };

  const guardingOf = (request: RecordedRequest, resolve: Resolve): Guarding => {
    const { caller } = recognizeNow(request);
    const effective = caller && effectiveProfileIn(caller, proposed);
    return effective === undefined || "kind" in effective ? NOT_GUARDED : guardrails(request, effective, resolve);
  };

  return {
    isUntouched,
    admit,
    budget: (request, admission, resolve) => budget(request, admission, () => guardingOf(request, resolve), resolve),
    guardrails: guardingOf,
    callerName: (request) => recognizeNow(request).displayName,
  };
}

/** Result for a request that was refused before guardrails. */
const NOT_GUARDED: Guarding = { step: PASSED, acted: "" };

const SERVED_AFTER_FAILOVER: Step = { kind: "unknown", reason: "it was served after a failover" };

/** Returns the effective profile of the caller, or the refusal of one whose profile is not configured. */
function effectiveProfileIn(caller: Caller, { snapshot }: ConfigurationSide): EffectiveProfile | Step {
  try {
    return effectiveProfileOf(caller, snapshot.governance);
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    return { kind: "refused", code: error.code, by: `profile ${caller.profile ?? ""}` };
  }
}

function bodyStep(request: RecordedRequest, { snapshot }: ConfigurationSide): Step {
  if (request.bodyBytes > snapshot.maxBodyBytes)
    return { kind: "refused", code: "body_too_large", by: "max_body_bytes" };
  const end = endOf(request);
  if (end.kind !== "refused" || end.stage !== "body") return PASSED;
  return { kind: "unknown", reason: "the size of its body is not recorded", decidedBy: ["max_body_bytes"] };
}

function admitCall(
  request: RecordedRequest,
  { profile: { policy }, variables }: EffectiveProfile,
  { snapshot }: ConfigurationSide,
  resolve: Resolve,
): Admission {
  const { traffic, to, method, name, role } = request;
  const kind = traffic === "mcp" ? "mcp" : "a2a";
  if (to === "") {
    const reason = "its server or agent is not recorded";
    return { step: resolve("routing", { kind: "unknown", reason, decidedBy: [kind] }), to: "" };
  }
  const fronted = snapshot.fronted.all.find((one) => one.kind === kind && one.name === to);
  if (fronted === undefined) return { step: { kind: "refused", code: "not_found", by: "" }, to: "" };
  const step =
    kind === "mcp"
      ? rulesStep(policy, kind, without(mcpVariables(variables, { server: to, method, name }), ["args"]))
      : rulesStep(
          policy,
          kind,
          without(a2aVariables(variables, { peer: to, method, role }), ["task_id", "context_id", "parts"]),
        );
  return { step: resolve("rules", step), to };
}

function without<Values extends object>(values: Values, names: readonly string[]): Partial<Values> {
  return Object.fromEntries(Object.entries(values).filter(([name]) => !names.includes(name))) as Partial<Values>;
}
