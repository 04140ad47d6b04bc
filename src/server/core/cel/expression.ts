/**
 * Compiles the text of an expression, and reports all problems by position.
 *
 * An expression is compiled for declared variables and a required result type. It is then evaluated for given variables within
 * a cost limit, and never throws. Evaluation allocates no more than the expression itself creates.
 */

import { parseSource } from "./cel-syntax.ts";
import { Uint, type Value } from "./cel-values.ts";
import { conjuncts, constantOf, failingParts, folded, pathOf } from "./constant-parts.ts";
import { costBound } from "./cost-bound.ts";
import { COST_FAULT, Fault } from "./evaluation-faults.ts";
import type { Frame, Variables } from "./evaluation-frame.ts";
import { evaluatorOf } from "./evaluator.ts";
import { children, type Node, nodeCount } from "./expression-tree.ts";
import { check, type Mistake, type VariableTypes } from "./type-check.ts";
import { STRING, type Type, typeText } from "./types.ts";

/** Maximum cost of an evaluation in units: some tens of milliseconds at worst. Usual rules take a microsecond. */
export const DEFAULT_COST_LIMIT = 100_000;

/** Maximum number of problems that are reported for one expression. */
const MAX_MISTAKES = 8;

export interface CompileOptions {
  /** Types of the variables by full name. A name may contain dots: `provider.metadata` is separate from `provider`. */
  readonly variables: VariableTypes;
  /** Required type; `number` is int, uint or double. A result whose type is only known at run time is accepted. */
  readonly result: "bool" | "number" | "any";
  readonly costLimit?: number;
}

/** Problem at a position. Line and column count from 1 within the expression; columns are UTF-16 units. */
export interface ExpressionProblem {
  readonly line: number;
  readonly column: number;
  readonly message: string;
  /** Name of the undeclared variable, if that is the problem. */
  readonly unknown?: string;
}

export type Outcome =
  | { readonly kind: "value"; readonly value: Value }
  | { readonly kind: "error"; readonly error: Fault };

/** Comparison `path == "text"`, `path in ["text", …]` or `path.startsWith("text")`, anywhere in the expression. */
export interface Comparison {
  /** Variable, with keys below it if any: `model`, `key.metadata.team`. */
  readonly path: string;
  readonly how: "equals" | "starts";
  /** Texts that the path is compared with; one of them must match. */
  readonly texts: readonly string[];
  /** True if the expression can only be true if this comparison is. */
  readonly isDemanded: boolean;
  readonly line: number;
  readonly column: number;
}

/**
 * Literal text that the expression compares with, including within loops. `subject` is the field of a declared record
 * (`annotation.type`), or the name of a map variable whose keys are compared.
 */
export interface Mention {
  readonly subject: string;
  readonly how: "equals" | "starts" | "key";
  readonly texts: readonly string[];
  readonly line: number;
  readonly column: number;
}

export interface Expression {
  readonly source: string;
  readonly type: Type;
  /** Declared variables that the expression reads, by whole name. */
  readonly reads: readonly string[];
  /** Constant value of the expression; `undefined` if it depends on the variables. */
  readonly constant: Value | undefined;
  /** Maximum cost in units; `undefined` if the cost grows with the values of the variables, so that only the limit bounds it. */
  readonly costBound: number | undefined;
  readonly comparisons: readonly Comparison[];
  readonly mentions: readonly Mention[];
  /** Parts that always fail when evaluated: a division by zero, an invalid pattern. */
  readonly failures: readonly ExpressionProblem[];
  /** Evaluates the expression. Never throws. Not reentrant, which cannot happen because an evaluation is synchronous. */
  readonly evaluate: (variables: Variables) => Outcome;
}

export type CompiledExpression =
  | { readonly kind: "compiled"; readonly expression: Expression }
  | { readonly kind: "refused"; readonly problems: readonly ExpressionProblem[] };

export function compileExpression(source: string, options: CompileOptions): CompiledExpression {
  const parsed = parseSource(source);
  if (parsed.kind === "refused") return { kind: "refused", problems: [placed(source, parsed.complaint)] };
  const { node, type, mistakes, reads, slots } = check(parsed.tree, options.variables);
  const wrong = mistakes.length > 0 ? mistakes : resultMistakes(type, options.result, node.at);
  if (wrong.length > 0) {
    return { kind: "refused", problems: wrong.slice(0, MAX_MISTAKES).map((one) => placed(source, one)) };
  }
  const limit = options.costLimit ?? DEFAULT_COST_LIMIT;
  const reduced = folded(node);
  const bound = costBound(reduced);
  if (bound !== undefined && bound > limit) {
    const message = `costs up to ${bound} units, at most ${limit} are allowed; nested loops multiply the cost`;
    return { kind: "refused", problems: [placed(source, { at: node.at, message })] };
  }
  const known = constantOf(node);
  const constant = known instanceof Fault ? undefined : known;
  const failures = failingParts(node).map(({ at, fault }) =>
    placed(source, { at, message: `this part always fails: ${fault.message}` }),
  );
  const expression: Expression = {
    source,
    type,
    reads: [...reads],
    constant,
    costBound: bound,
    comparisons: comparisonsOf(node, source),
    mentions: mentionsOf(node, source),
    failures,
    evaluate: evaluation(reduced, limit, slots > 0),
  };
  return { kind: "compiled", expression: Object.freeze(expression) };
}

function resultMistakes(type: Type, wanted: CompileOptions["result"], at: number): readonly Mistake[] {
  if (wanted === "any" || type.kind === "dyn") return [];
  const kinds = wanted === "bool" ? ["bool"] : ["int", "uint", "double"];
  if (kinds.includes(type.kind)) return [];
  const name = wanted === "bool" ? "a bool" : "a number";
  return [{ at, message: `the result must be ${name}, found ${typeText(type)}` }];
}

function placed(source: string, { at, message, unknown }: Mistake): ExpressionProblem {
  // The parser places an operator at the white space before it.
  const space = /^\s*/.exec(source.slice(at))?.[0].length ?? 0;
  const before = source.slice(0, at + (at + space < source.length ? space : 0)).split(/\r\n|\r|\n/);
  const place = { line: before.length, column: (before.at(-1)?.length ?? 0) + 1, message };
  return unknown === undefined ? place : { ...place, unknown };
}

const TRUE: Outcome = Object.freeze({ kind: "value", value: true });
const FALSE: Outcome = Object.freeze({ kind: "value", value: false });
const SPENT: Outcome = Object.freeze({ kind: "error", error: COST_FAULT });
/** Result if a text or list exceeds what the engine can hold, or nested data exceeds its stack. */
const BROKEN: Outcome = Object.freeze({ kind: "error", error: new Fault("other", "the evaluation failed") });

function evaluation(node: Node, limit: number, hasLoops: boolean): (variables: Variables) => Outcome {
  const evaluate = evaluatorOf(node);
  const units = limit - nodeCount(node);
  const none: Variables = Object.freeze({});
  const frame: Frame = { variables: none, locals: [], remainingCost: 0 };
  return (variables) => {
    frame.variables = variables;
    frame.remainingCost = units;
    try {
      const value = evaluate(frame);
      // The budget is checked first: an operator may have absorbed the fault of an exhausted one.
      if (frame.remainingCost < 0) return SPENT;
      if (value === true) return TRUE;
      if (value === false) return FALSE;
      return value instanceof Fault ? { kind: "error", error: value } : { kind: "value", value };
    } catch {
      return BROKEN;
    } finally {
      frame.variables = none;
      if (hasLoops) frame.locals.length = 0;
    }
  };
}

const COMPARING: Readonly<Record<string, Comparison["how"]>> = {
  "_==_": "equals",
  "@in": "equals",
  startsWith: "starts",
};

function comparisonsOf(node: Node, source: string): readonly Comparison[] {
  const demanded = new Set(conjuncts(node));
  const found: Comparison[] = [];
  const walk = (part: Node): void => {
    for (const child of children(part)) walk(child);
    if (part.kind !== "call") return;
    const [operand, value] = part.args;
    const path = operand && pathOf(operand);
    const how = COMPARING[part.name];
    const texts = value && textsOf(value);
    if (path === undefined || how === undefined || texts === undefined) return;
    const { line, column } = placed(source, { at: value?.at ?? part.at, message: "" });
    found.push({ path, how, texts, isDemanded: demanded.has(part), line, column });
  };
  walk(node);
  return found;
}

function mentionsOf(node: Node, source: string): readonly Mention[] {
  const found: Mention[] = [];
  const add = (subject: string | undefined, how: Mention["how"], value: Node | undefined): void => {
    const texts = value && textsOf(value);
    if (subject === undefined || value === undefined || texts === undefined) return;
    const { line, column } = placed(source, { at: value.at, message: "" });
    found.push({ subject, how, texts, line, column });
  };
  const walk = (part: Node): void => {
    for (const child of children(part)) walk(child);
    if (part.kind === "select" || part.kind === "has") {
      const value: Node = { kind: "literal", at: part.at, type: STRING, value: part.field };
      add(mapName(part.operand), "key", value);
    }
    if (part.kind !== "call") return;
    const [left, right] = part.args;
    if (left === undefined || right === undefined) return;
    const how = COMPARING[part.name];
    if (how !== undefined) add(fieldName(left), how, right);
    if (part.name === "_==_") add(fieldName(right), "equals", left);
    if (part.name === "@in") add(mapName(right), "key", left);
    if (part.name === "_[_]") add(mapName(left), "key", right);
  };
  walk(node);
  return found;
}

const fieldName = (node: Node): string | undefined =>
  node.kind === "select" && node.operand.type.kind === "record" ? `${node.operand.type.name}.${node.field}` : undefined;

const mapName = (node: Node): string | undefined =>
  node.kind === "variable" && node.type.kind === "map" ? node.name : undefined;

/** Returns a literal text, or the texts of a list that has only literal texts; otherwise `undefined`. */
function textsOf(node: Node): readonly string[] | undefined {
  if (node.kind === "literal") return typeof node.value === "string" ? [node.value] : undefined;
  if (node.kind !== "list" || node.items.length === 0) return undefined;
  const texts = node.items.map((item) => textsOf(item)?.[0]);
  return texts.every((text) => text !== undefined) ? texts : undefined;
}

/** Returns a result as a number, for costs; `undefined` if it is not one. */
export function numberOf(value: Value): number | undefined {
  if (typeof value === "number") return value;
  if (typeof value === "bigint") return Number(value);
  return value instanceof Uint ? Number(value.value) : undefined;
}
