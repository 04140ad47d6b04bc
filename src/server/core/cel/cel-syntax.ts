/**
 * Parses an expression: calls the library's parser within limits, converts its tree to ours, and turns macros into loops.
 *
 * Grammar: CEL language definition, "Syntax". The parser expands macros into folds. Since it records the macro of each fold,
 * the loop is reconstructed, so that messages, cost and evaluation refer to `exists` and not to folds. Positions are offsets
 * in UTF-16 units. Texts are limited in length and trees in depth. `cel-syntax-message.ts` turns the parser's errors into
 * sentences.
 */

import type { Constant, Expr, ParsedExpr } from "@bufbuild/cel-spec/cel/expr/syntax_pb.js";
import { parse as parseText } from "cel-js";
import { scanBrackets, syntaxMessage } from "./cel-syntax-message.ts";
import { MAX_INT, MAX_UINT, MIN_INT, Uint, type Value } from "./cel-values.ts";
import type { Complaint, Tree } from "./expression-tree.ts";

/** Maximum length of an expression in UTF-16 units. A handwritten rule has a few hundred. */
const MAX_SOURCE_LENGTH = 8192;

/** Maximum depth of the tree. Every pass over a tree recurses, so this bounds the stack. */
const MAX_TREE_DEPTH = 200;

type Parsed =
  | { readonly kind: "tree"; readonly tree: Tree }
  | { readonly kind: "refused"; readonly complaint: Complaint };

/** Matches a text of white space and comments only. */
const EMPTY = /^(?:\s|\/\/[^\n\r]*(?:[\n\r]|$))*$/;

export function parseSource(source: string): Parsed {
  if (source.length > MAX_SOURCE_LENGTH) {
    return refused(0, `has ${source.length} characters, at most ${MAX_SOURCE_LENGTH} are allowed`);
  }
  if (EMPTY.test(source)) return refused(0, "is empty");
  const bracket = scanBrackets(source, MAX_TREE_DEPTH);
  if (bracket !== undefined) return { kind: "refused", complaint: bracket };
  let parsed: ParsedExpr;
  try {
    parsed = parseText(source);
  } catch (error) {
    return { kind: "refused", complaint: syntaxMessage(source, error) };
  }
  try {
    return { kind: "tree", tree: treeOf(parsed, source) };
  } catch (error) {
    if (error instanceof Refusal) return refused(error.at, error.message);
    throw error;
  }
}

const refused = (at: number, message: string): Parsed => ({ kind: "refused", complaint: { at, message } });

/** Error that leaves the recursion in this file. Caught in `parseSource`. */
class Refusal extends Error {
  readonly at: number;
  constructor(at: number, message: string) {
    super(message);
    this.at = at;
  }
}

interface Reading {
  readonly source: string;
  readonly positions: Readonly<Record<string, number>>;
  readonly macros: Readonly<Record<string, Expr>>;
}

function treeOf(parsed: ParsedExpr, source: string): Tree {
  const { expr, sourceInfo } = parsed;
  if (expr === undefined || sourceInfo === undefined) throw new Refusal(0, "is empty");
  return convert(expr, { source, positions: sourceInfo.positions, macros: sourceInfo.macroCalls }, 1);
}

function convert(expr: Expr | undefined, reading: Reading, depth: number): Tree {
  if (expr === undefined) throw new Refusal(0, "is not complete");
  const at = reading.positions[String(expr.id)] ?? 0;
  if (depth > MAX_TREE_DEPTH) throw new Refusal(at, `is nested deeper than ${MAX_TREE_DEPTH} levels`);
  const inner = (child: Expr | undefined): Tree => convert(child, reading, depth + 1);
  const { exprKind } = expr;
  switch (exprKind.case) {
    case "constExpr":
      return { kind: "literal", at, value: literal(exprKind.value, at) };
    case "identExpr":
      return { kind: "name", at, name: exprKind.value.name };
    case "selectExpr": {
      const { operand, field, testOnly } = exprKind.value;
      return { kind: testOnly ? "has" : "select", at, operand: inner(operand), field };
    }
    case "callExpr": {
      const { function: name, target, args } = exprKind.value;
      const items = args.map(inner);
      if (target === undefined)
        return { kind: "call", at: startOf(at, name, items, reading.source), name, args: items };
      const [variable, by, ...more] = items;
      if (name === "sortBy" && variable?.kind === "name" && by !== undefined && more.length === 0) {
        return { kind: "loop", at, macro: "sortBy", range: inner(target), variable: variable.name, body: by };
      }
      return { kind: "call", at, name, target: inner(target), args: items };
    }
    case "listExpr":
      return { kind: "list", at, items: exprKind.value.elements.map(inner) };
    case "structExpr": {
      const { entries, messageName } = exprKind.value;
      if (messageName !== "") throw new Refusal(at, `\`${messageName}{…}\`: message types are not supported`);
      return {
        kind: "map",
        at,
        entries: entries.map(({ keyKind, value }) => ({
          key: inner(keyKind.case === "mapKey" ? keyKind.value : undefined),
          value: inner(value),
        })),
      };
    }
    case "comprehensionExpr":
      return loop(expr, at, reading, depth);
    default:
      throw new Refusal(at, "is not complete");
  }
}

/**
 * Returns where a call starts. The parser gives logical operators no position, so they start where their first operand does;
 * and it places a function at its arguments.
 */
function startOf(at: number, name: string, args: readonly Tree[], source: string): number {
  if (/^[a-z]/i.test(name)) return Math.max(0, source.lastIndexOf(name, at));
  return at === 0 ? (args[0]?.at ?? 0) : at;
}

/** Reconstructs the loop from the fold that a macro was expanded to. The shapes are those of the library's expansion. */
function loop(expr: Expr, at: number, reading: Reading, depth: number): Tree {
  const call = reading.macros[String(expr.id)]?.exprKind;
  if (expr.exprKind.case !== "comprehensionExpr" || call?.case !== "callExpr") throw new Refusal(at, "is not a macro");
  const { iterRange, iterVar: variable, loopStep } = expr.exprKind.value;
  const range = convert(iterRange, reading, depth + 1);
  const step = argumentsOf(loopStep);
  const inner = (child: Expr | undefined): Tree => convert(child, reading, depth + 1);
  switch (call.value.function) {
    case "all":
    case "exists":
      return { kind: "loop", at, macro: call.value.function, range, variable, body: inner(step[1]) };
    case "exists_one":
    case "existsOne":
      return { kind: "loop", at, macro: "exists_one", range, variable, body: inner(step[0]) };
    case "filter":
      return { kind: "loop", at, macro: "filter", range, variable, body: inner(step[0]) };
    default:
      return call.value.args.length === 3
        ? { kind: "loop", at, macro: "map", range, variable, test: inner(step[0]), body: inner(appended(step[1])) }
        : { kind: "loop", at, macro: "map", range, variable, body: inner(appended(loopStep)) };
  }
}

const argumentsOf = (expr: Expr | undefined): readonly Expr[] =>
  expr?.exprKind.case === "callExpr" ? expr.exprKind.value.args : [];

/** Returns `item` from an expression `result + [item]`. */
function appended(expr: Expr | undefined): Expr | undefined {
  const list = argumentsOf(expr)[1];
  return list?.exprKind.case === "listExpr" ? list.exprKind.value.elements[0] : undefined;
}

function literal({ constantKind }: Constant, at: number): Value {
  switch (constantKind.case) {
    case "int64Value":
      if (constantKind.value < MIN_INT || constantKind.value > MAX_INT) {
        throw new Refusal(at, `${constantKind.value} is beyond the range of int (64 bits)`);
      }
      return constantKind.value;
    case "uint64Value":
      if (constantKind.value > MAX_UINT) {
        throw new Refusal(at, `${constantKind.value}u is beyond the range of uint (64 bits)`);
      }
      return new Uint(constantKind.value);
    case "doubleValue":
      if (!Number.isFinite(constantKind.value)) throw new Refusal(at, "the number is beyond the range of double");
      return constantKind.value;
    case "boolValue":
    case "stringValue":
    case "bytesValue":
      return constantKind.value;
    case "nullValue":
      return null;
    default:
      throw new Refusal(at, "is not a literal");
  }
}
