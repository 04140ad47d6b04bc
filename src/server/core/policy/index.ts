/**
 * Access rules: hop variables in, a verdict out. Pure.
 *
 * Once a snapshot, `compilePolicies(document, known)` compiles the deployment's rules and each profile's against the hops
 * they stand at; `problems` are errors and warnings at paths of the document, for `read.problem(path, message, severity)`.
 * `variables/` fills in what they read: once a caller, `callerVariables(…)`. Once a request and, with failover, once a candidate:
 * `policies.of(profile).decide("llm", llmVariables(caller, {model, upstreamModel, provider, route}))`, and likewise `mcp` and `a2a`.
 * A verdict with no `decisions` and no `skipped` needs no audit record.
 */

export { HOP_VARIABLES, HOPS, type Hop } from "./hops.ts";
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
} from "./policy.ts";
export type { AccessRule, RuleProblem } from "./rule.ts";
export type { HopVariables } from "./variables/index.ts";
export type { KnownNames } from "./warnings.ts";
