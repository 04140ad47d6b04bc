/** Rules and requests for the policy tests. */

import assert from "node:assert/strict";
import {
  type AccessRule,
  compilePolicies,
  type KnownNames,
  type Policies,
  type PolicyDocument,
} from "../../../../src/server/core/policy/index.ts";
import {
  callerVariables,
  type LlmVariables,
  llmVariables,
} from "../../../../src/server/core/policy/variables/index.ts";

export const rule = (condition: string, more: Partial<AccessRule> = {}): AccessRule => ({
  name: "r",
  condition,
  action: "deny",
  on_error: "fail_closed",
  ...more,
});

export const atLlm = (condition: string, more: Partial<AccessRule> = {}): AccessRule =>
  rule(condition, { at: ["llm"], ...more });

export function policiesOf(document: PolicyDocument): Policies {
  const { policies, problems } = compilePolicies(document);
  assert.deepEqual(
    problems.filter(({ severity }) => severity === "error"),
    [],
  );
  return policies;
}

/** Returns `path: message`. */
export const problemsOf = (
  document: PolicyDocument,
  known: KnownNames = {},
  severity: "error" | "warning" = "error",
): readonly string[] =>
  compilePolicies(document, known)
    .problems.filter((problem) => problem.severity === severity)
    .map(({ path, message }) => `${path.join(".")}: ${message}`);

export const caller = callerVariables({
  key: { name: "ci", metadata: { team: "search" } },
  agent: undefined,
  user: undefined,
});

export const chat: LlmVariables = llmVariables(caller, {
  model: "gpt-5",
  upstreamModel: "gpt-5",
  provider: { name: "openai", metadata: { region: "eu" } },
  route: "chat_completions",
});
