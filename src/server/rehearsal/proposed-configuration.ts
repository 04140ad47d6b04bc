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
import type { Before } from "./channels.ts";
import { differingParts } from "./differing.ts";
import { guardrailStage } from "./guardrail-stage.ts";
import { recognizer } from "./recorded-callers.ts";
import type { KeyNow, Side } from "./types.ts";

export interface ProposalInput extends Pick<BudgetSides, "requests" | "since" | "buckets" | "now"> {
  readonly inForce: Side;
  readonly proposed: Side;
  /** Keys by id. */
  readonly keys: ReadonlyMap<string, KeyNow>;
}

interface OpenProposal extends Proposal {
  /** Returns the caller's display name. */
  readonly shownCaller: (request: RecordedRequest) => string;
}

const PASSED = { kind: "passed" } as const;

export function openProposal(input: ProposalInput): OpenProposal {
  const { inForce, proposed, keys } = input;
  const differing = differingParts(inForce, proposed);
  const [then, now] = [recognizer(inForce, keys), recognizer(proposed, keys)];
  const callerOf = (side: Side, request: RecordedRequest): Caller | undefined =>
    (side === inForce ? then : now)(request).caller;
  const isUntouched = ({ configuration }: RecordedRequest, parts: readonly string[]): boolean =>
    configuration === inForce.snapshot.digest && !parts.some(differing.differs);
  const guardrails = guardrailStage({ inForce, proposed, isUntouched });
  const budget = budgetStage({ ...input, callerOf, isUntouched });

  const admit = (request: RecordedRequest, resolve: Resolve): Admission => {
    const ended = (step: Step): Admission => ({ step, to: "" });
    const { caller, step } = now(request);
    const recognized = resolve("caller", step);
    if (recognized.kind !== "passed") return ended(recognized);
    if (caller === undefined) return ended({ kind: "unknown", reason: "its caller was not recognized" });
    const found = effectiveProfileIn(caller, proposed);
    if ("kind" in found) return ended(found);
    const body = resolve("body", bodyStep(request, proposed));
    if (body.kind !== "passed") return ended(body);
    if ((request.facts & FACT.isCut) !== 0) return ended(taken(request, "a name in it was too long to record"));
    switch (request.traffic) {
      case "llm":
        return admitOver(request, found, resolve);
      case "mcp":
      case "a2a":
        return admitCall(request, found, proposed, resolve);
      case "websocket":
        return { step: taken(request, "it is a WebSocket session"), to: request.to };
      default:
        return ended(taken(request, "it ended before it was routed"));
    }
  };

  /** Takes over the recorded decision if no difference between the documents affects it; otherwise the result is unknown. */
  const taken = (request: RecordedRequest, reason: string): Step => {
    const end = endOf(request);
    if (!isUntouched(request, [""]) || end.kind === "other") return { kind: "unknown", reason };
    return end.kind === "forwarded" ? PASSED : end;
  };

  const admitOver = (request: RecordedRequest, effective: EffectiveProfile, resolve: Resolve): Admission => {
    const judging = { request, effective, resolve, snapshot: proposed.snapshot, before: beforeOf(request) };
    const admission = admitModel(judging);
    const { provider, to } = request;
    // The rest is for requests whose first provider failed and that another one served.
    if (admission.step.kind !== "passed" || provider === "" || provider === to) return admission;
    const earlier = then(request).caller;
    const effectiveThen = earlier && effectiveProfileIn(earlier, inForce);
    if (effectiveThen === undefined || "kind" in effectiveThen) return { step: MOVED, to: admission.to };
    const before = { ...judging, effective: effectiveThen, snapshot: inForce.snapshot };
    const isAlike = admittedNames(before)?.join("\n") === admittedNames(judging)?.join("\n");
    return isAlike && isUntouched(request, ["providers"]) ? admission : { step: MOVED, to: admission.to };
  };

  const beforeOf = (request: RecordedRequest): Before | undefined => {
    if (request.configuration !== inForce.snapshot.digest) return undefined;
    const caller = then(request).caller;
    const end = endOf(request);
    const name = request.to === "" && end.kind === "refused" && end.stage === "channel" ? request.routed : request.to;
    return {
      name,
      profile: caller && inForce.snapshot.governance.profile(caller.profile),
      provider: inForce.snapshot.byName.get(name),
    };
  };

  const guardingOf = (request: RecordedRequest, resolve: Resolve): Guarding => {
    const { caller } = now(request);
    const effective = caller && effectiveProfileIn(caller, proposed);
    return effective === undefined || "kind" in effective ? LET : guardrails(request, effective, resolve);
  };

  return {
    isUntouched,
    admit,
    budget: (request, admission, resolve) => budget(request, admission, () => guardingOf(request, resolve), resolve),
    guardrails: guardingOf,
    shownCaller: (request) => now(request).shown,
  };
}

/** Result for a request that was refused before guardrails. */
const LET: Guarding = { step: PASSED, acted: "" };

const MOVED: Step = { kind: "unknown", reason: "it was served after a failover" };

/** Returns the effective profile of the caller, or the refusal of one whose profile is not configured. */
function effectiveProfileIn(caller: Caller, { snapshot }: Side): EffectiveProfile | Step {
  try {
    return effectiveProfileOf(caller, snapshot.governance);
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    return { kind: "refused", code: error.code, by: `profile ${caller.profile ?? ""}` };
  }
}

function bodyStep(request: RecordedRequest, { snapshot }: Side): Step {
  if (request.bodyBytes > snapshot.maxBodyBytes)
    return { kind: "refused", code: "body_too_large", by: "max_body_bytes" };
  const end = endOf(request);
  if (end.kind !== "refused" || end.stage !== "body") return PASSED;
  return { kind: "unknown", reason: "the size of its body is not recorded", decidedBy: ["max_body_bytes"] };
}

function admitCall(
  request: RecordedRequest,
  { profile: { policy }, variables }: EffectiveProfile,
  { snapshot }: Side,
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
