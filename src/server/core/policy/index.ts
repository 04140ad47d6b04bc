/**
 * Access rules: take the variables of a request and return a verdict. Pure.
 *
 * Once per snapshot, `compilePolicies(document, known)` compiles the rules of the deployment and of each profile for the traffic
 * types they apply to; `problems` are errors and warnings at paths of the document, for `read.problem(path, message, severity)`.
 * `variables/` builds the variables: once per caller, `callerVariables(…)`; once per request and, with failover, per candidate:
 * `policies.of(profile).decide("llm", llmVariables(caller, {model, upstreamModel, provider, route}))`, and likewise `mcp` and
 * `a2a`. A verdict without `decisions` and `skipped` needs no audit record.
 */

export {
  type AccessPolicy,
  type CompiledPolicies,
  compilePolicies,
  type Decision,
  type Layer,
  type Policies,
  type PolicyDocument,
  type RuleError,
  type Verdict,
} from "./access-policy.ts";
export type { AccessRule, RuleProblem } from "./access-rule.ts";
export { HOP_VARIABLES, HOPS, type Hop } from "./hop-variables.ts";
export type { KnownNames } from "./rule-warnings.ts";
export type { HopVariables } from "./variables/index.ts";
