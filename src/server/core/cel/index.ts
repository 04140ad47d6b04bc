/**
 * CEL: one environment for every expression of the configuration. Pure.
 *
 * `compileExpression(source, {variables, result})` parses, type-checks and compiles. It returns the expression, or all its
 * problems by line and column. `expression.evaluate(variables)` returns a value or an error of a closed set of kinds
 * (`FaultKind`), within a bounded cost, and never throws.
 *
 * Variables are passed as one object whose properties are the declared names; a dotted name is a single property
 * (`"provider.metadata"`). JSON values are used as they are; their numbers are doubles. An int of a declared variable is a
 * bigint.
 */

export { CelMap, Duration, type Json, Timestamp, TypeValue, Uint, type Value } from "./cel-values.ts";
export { Fault, type FaultKind } from "./evaluation-faults.ts";
export type { Variables } from "./evaluation-frame.ts";
export {
  type Comparison,
  type CompiledExpression,
  type CompileOptions,
  compileExpression,
  DEFAULT_COST_LIMIT,
  type Expression,
  type ExpressionProblem,
  type Mention,
  numberOf,
  type Outcome,
} from "./expression.ts";
export type { VariableTypes } from "./type-check.ts";
export {
  BOOL,
  BYTES,
  DOUBLE,
  DURATION,
  DYN,
  INT,
  listOf,
  mapOf,
  NULL,
  recordOf,
  STRING,
  TIMESTAMP,
  type Type,
  typeText,
  UINT,
} from "./types.ts";
