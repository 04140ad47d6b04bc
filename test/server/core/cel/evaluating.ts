/** Compiles and evaluates expressions in one step, for tests. */

import assert from "node:assert/strict";
import {
  type CompileOptions,
  compileExpression,
  type Expression,
  type Outcome,
  type Variables,
} from "../../../../src/server/core/cel/index.ts";

export function expressionOf(source: string, options: Partial<CompileOptions> = {}): Expression {
  const compiled = compileExpression(source, { variables: {}, result: "any", ...options });
  assert.ok(
    compiled.kind === "compiled",
    compiled.kind === "refused" ? `${source}: ${compiled.problems[0]?.message}` : "",
  );
  return compiled.expression;
}

export const evaluated = (source: string, variables: Variables = {}, options: Partial<CompileOptions> = {}): Outcome =>
  expressionOf(source, options).evaluate(variables);

/** Returns the value, or `error: kind`. */
export function answer(source: string, variables: Variables = {}, options: Partial<CompileOptions> = {}): unknown {
  const outcome = evaluated(source, variables, options);
  return outcome.kind === "value" ? outcome.value : `error: ${outcome.error.kind}`;
}
