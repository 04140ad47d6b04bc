/**
 * Compiles and applies access rules. Spec: document 3, `access_rules[]`; document 1, errors.
 *
 * The deployment's list is mandatory: a deny in it is final; an allow ends that list but not the profile's. Within a list the
 * first match wins; without a match the request is allowed. A condition that cannot be evaluated refuses with `policy_error`
 * (`fail_closed`) or is skipped and reported (`fail_open`). A caller without a profile has no second list.
 */

import { type Expression, Fault, type FaultKind } from "../cel/index.ts";
import { type AccessRule, type CompiledRule, compileRule, type RuleProblem } from "./access-rule.ts";
import type { Hop } from "./hop-variables.ts";
import { type KnownNames, listWarnings } from "./rule-warnings.ts";
import type { HopVariables } from "./variables/index.ts";

export type Layer = { readonly kind: "deployment" } | { readonly kind: "profile"; readonly profile: string };

/** Rule that matched; recorded in the audit record. */
export interface Decision {
  readonly rule: string;
  readonly layer: Layer;
  readonly action: "allow" | "deny";
  readonly controls: readonly string[];
}

/** Rule whose condition could not be evaluated. The error text contains no part of the request. */
export interface RuleError {
  readonly rule: string;
  readonly layer: Layer;
  readonly controls: readonly string[];
  readonly error: FaultKind;
  readonly detail: string;
}

interface EvaluatedRules {
  /** Rules that matched, in order; at most one per layer. */
  readonly decisions: readonly Decision[];
  /** Rules that were skipped because of `on_error: fail_open`. */
  readonly skipped: readonly RuleError[];
}

export type Verdict =
  /** An allow is not recorded if both lists are empty. */
  | ({ readonly kind: "allow" } & EvaluatedRules)
  /** `message` is for the caller; `by` is the last of `decisions`. */
  | ({
      readonly kind: "deny";
      readonly code: "policy_denied";
      readonly message: string;
      readonly by: Decision;
    } & EvaluatedRules)
  | ({
      readonly kind: "error";
      readonly code: "policy_error";
      readonly message: string;
      readonly by: RuleError;
    } & EvaluatedRules);

/** Rules of one population: a profile, or callers without one. */
export interface AccessPolicy {
  /** Number of rules of both layers for each traffic type; at zero, rules need not be evaluated. */
  readonly count: Readonly<Record<Hop, number>>;
  /** True if a rule for `llm` reads the model; then a request that hides its models would bypass it. */
  readonly readsModel: boolean;
  /** Decides a request. Calls `onRule` before each rule is evaluated, with the decision it would give. */
  readonly decide: <At extends Hop>(hop: At, variables: HopVariables[At], onRule?: (rule: Decision) => void) => Verdict;
  /**
   * Returns whether a tool may be listed: no rule that can be decided before its arguments are known denies a call of it. A rule
   * that reads `args`, or that cannot be evaluated, decides only the call.
   */
  readonly mayListTool: (variables: HopVariables["mcp"]) => boolean;
  /**
   * Returns whether a server may be shown as callable: no rule that can be decided by caller and server alone denies it. A rule
   * that reads the called tool decides only the call.
   */
  readonly mayReachServer: (variables: HopVariables["mcp"]) => boolean;
}

export interface Policies {
  /** Returns the policy of a profile (`undefined`: callers without one). An unknown profile has only the deployment's rules. */
  readonly of: (profile: string | undefined) => AccessPolicy;
  /** All rules in order of evaluation, for rule coverage. */
  readonly rules: readonly { readonly layer: Layer; readonly rule: AccessRule; readonly hops: readonly Hop[] }[];
}

export interface PolicyDocument {
  readonly access_rules?: readonly AccessRule[] | undefined;
  readonly profiles?:
    | readonly { readonly name: string; readonly access_rules?: readonly AccessRule[] | undefined }[]
    | undefined;
}

export interface CompiledPolicies {
  /** Rules that compiled; use them only if no problem is an error. */
  readonly policies: Policies;
  /** Problems; their paths begin at the document's root: `access_rules[0].condition`, `profiles[1].access_rules[0].condition`. */
  readonly problems: readonly RuleProblem[];
}

export function compilePolicies(document: PolicyDocument, known: KnownNames = {}): CompiledPolicies {
  const deployment = compileList(document.access_rules ?? [], { kind: "deployment" }, known);
  const problems = deployment.problems.map((problem) => withPathPrefix(["access_rules"], problem));
  const lists = [deployment];
  const withoutProfile = accessPolicy([deployment]);
  const byProfile = new Map<string, AccessPolicy>();
  for (const [at, { name, access_rules: rules = [] }] of (document.profiles ?? []).entries()) {
    const own = compileList(rules, { kind: "profile", profile: name }, known);
    problems.push(...own.problems.map((problem) => withPathPrefix(["profiles", at, "access_rules"], problem)));
    lists.push(own);
    byProfile.set(name, rules.length === 0 ? withoutProfile : accessPolicy([deployment, own]));
  }
  const rules = lists.flatMap(({ layer, rules }) => rules.map(({ rule, hops }) => ({ layer, rule, hops })));
  const of = (profile: string | undefined): AccessPolicy =>
    profile === undefined ? withoutProfile : (byProfile.get(profile) ?? withoutProfile);
  return { policies: Object.freeze({ of, rules }), problems };
}

const withPathPrefix = (path: RuleProblem["path"], problem: RuleProblem): RuleProblem => ({
  ...problem,
  path: [...path, ...problem.path],
});

interface RuleList {
  readonly layer: Layer;
  readonly rules: readonly CompiledRule[];
  readonly problems: readonly RuleProblem[];
}

function compileList(rules: readonly AccessRule[], layer: Layer, known: KnownNames): RuleList {
  const outcomes = rules.map(compileRule);
  const compiled = outcomes.map((outcome) => (outcome.kind === "compiled" ? outcome.rule : undefined));
  const errors = outcomes.flatMap((outcome) => (outcome.kind === "refused" ? outcome.problems : []));
  return {
    layer,
    rules: compiled.filter((rule) => rule !== undefined),
    problems: [...errors, ...listWarnings(compiled, known)],
  };
}

/** Rule for one traffic type, with its possible results prepared. */
interface Step {
  readonly evaluate: Expression["evaluate"];
  readonly decision: Decision;
  readonly message: string;
  readonly failsOpen: boolean;
  readonly reads: readonly string[];
}

const NOT_BOOL = new Fault("type", "the condition is not a bool");

const MODEL_NAMES: ReadonlySet<string> = new Set(["model", "upstream_model"]);

function accessPolicy(lists: readonly RuleList[]): AccessPolicy {
  const stepsAt = (hop: Hop) => lists.map(({ layer, rules }) => rules.flatMap((rule) => stepOf(rule, layer, hop)));
  const layers: Readonly<Record<Hop, readonly (readonly Step[])[]>> = {
    llm: stepsAt("llm"),
    mcp: stepsAt("mcp"),
    a2a: stepsAt("a2a"),
  };
  const countAt = (hop: Hop): number => layers[hop].reduce((sum, steps) => sum + steps.length, 0);
  const count = { llm: countAt("llm"), mcp: countAt("mcp"), a2a: countAt("a2a") };
  return Object.freeze({
    count: Object.freeze(count),
    readsModel: lists.some(({ rules }) =>
      rules.some(({ conditions }) => conditions.llm?.reads.some((name) => MODEL_NAMES.has(name)) === true),
    ),
    decide: <At extends Hop>(hop: At, variables: HopVariables[At], onRule?: (rule: Decision) => void): Verdict =>
      decide(layers[hop], variables, onRule),
    mayListTool: (variables: HopVariables["mcp"]) =>
      !layers.mcp.some((steps) => deniesForCertain(steps, variables, ARGUMENTS)),
    mayReachServer: (variables: HopVariables["mcp"]) =>
      !layers.mcp.some((steps) => deniesForCertain(steps, variables, CALL)),
  });
}

/** Variables whose values are not known yet: `ARGUMENTS` if the tool is known, `CALL` if only the server is. */
const ARGUMENTS: ReadonlySet<string> = new Set(["args"]);
const CALL: ReadonlySet<string> = new Set(["args", "name", "method"]);

function deniesForCertain(
  steps: readonly Step[],
  variables: HopVariables["mcp"],
  unknown: ReadonlySet<string>,
): boolean {
  for (const { reads, evaluate, decision } of steps) {
    if (reads.some((name) => unknown.has(name))) {
      // Some call may match this allow rule, so later rules do not certainly deny it.
      if (decision.action === "allow") return false;
      continue;
    }
    const outcome = evaluate(variables);
    if (outcome.kind !== "error" && outcome.value === true) return decision.action === "deny";
  }
  return false;
}

function stepOf({ rule, conditions }: CompiledRule, layer: Layer, hop: Hop): readonly Step[] {
  const condition = conditions[hop];
  if (condition === undefined) return [];
  const decision = Object.freeze({ rule: rule.name, layer, action: rule.action, controls: rule.controls ?? [] });
  const message = rule.message || `denied by rule ${rule.name}`;
  const failsOpen = rule.on_error === "fail_open";
  return [{ evaluate: condition.evaluate, decision, message, failsOpen, reads: condition.reads }];
}

const NONE: readonly never[] = Object.freeze([]);
const ALLOWED: Verdict = Object.freeze({ kind: "allow", decisions: NONE, skipped: NONE });

function decide(
  layers: readonly (readonly Step[])[],
  variables: HopVariables[Hop],
  asking?: (rule: Decision) => void,
): Verdict {
  let decisions: readonly Decision[] = NONE;
  let skipped: readonly RuleError[] = NONE;
  for (const steps of layers) {
    for (const step of steps) {
      asking?.(step.decision);
      const outcome = step.evaluate(variables);
      const matched = outcome.kind === "error" ? outcome.error : outcome.value;
      if (matched === false) continue;
      if (matched === true) {
        decisions = [...decisions, step.decision];
        if (step.decision.action === "allow") break;
        const { message, decision: by } = step;
        return { kind: "deny", code: "policy_denied", message, by, decisions, skipped };
      }
      const by = ruleError(step, matched instanceof Fault ? matched : NOT_BOOL);
      if (!step.failsOpen) {
        const message = `rule ${by.rule} could not be evaluated`;
        return { kind: "error", code: "policy_error", message, by, decisions, skipped };
      }
      skipped = [...skipped, by];
    }
  }
  if (decisions === NONE && skipped === NONE) return ALLOWED;
  return { kind: "allow", decisions, skipped };
}

function ruleError({ decision: { rule, layer, controls } }: Step, fault: Fault): RuleError {
  return { rule, layer, controls, error: fault.kind, detail: fault.message };
}
