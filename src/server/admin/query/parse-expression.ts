/**
 * Parses expressions, from the lowest precedence to the highest: OR, AND, NOT, comparisons, `+ -`, `* / %`, `||`, signs, `->>`.
 * Operators become operations of the worker here; functions stay names.
 */

import type { Cursor } from "./cursor.ts";
import type { Operation } from "./plan.ts";
import type { Expression, Name } from "./syntax.ts";
import { invalid } from "./tokens.ts";

const COMPARISONS: Readonly<Record<string, Operation>> = {
  "=": "eq",
  "<>": "ne",
  "!=": "ne",
  "<": "lt",
  "<=": "le",
  ">": "gt",
  ">=": "ge",
};
const SUMS: Readonly<Record<string, Operation>> = { "+": "add", "-": "sub" };
const PRODUCTS: Readonly<Record<string, Operation>> = { "*": "mul", "/": "div", "%": "mod" };

/** Words that end or join expressions, so that unquoted they cannot be columns. */
const NO_COLUMNS = new Set(
  "and as asc between case desc distinct else end escape except from group having in intersect is join like not or order select then union using when where".split(
    " ",
  ),
);

const CASTS: Readonly<Record<string, Operation>> = {
  text: "cast_text",
  varchar: "cast_text",
  char: "cast_text",
  string: "cast_text",
  integer: "cast_integer",
  int: "cast_integer",
  bigint: "cast_integer",
  real: "cast_real",
  float: "cast_real",
  double: "cast_real",
  numeric: "cast_real",
  decimal: "cast_real",
  boolean: "cast_boolean",
  bool: "cast_boolean",
};

export function parseExpression(cursor: Cursor): Expression {
  return cursor.nested(() => parseOr(cursor));
}

function operation(cursor: Cursor, name: Operation, ...args: readonly Expression[]): Expression {
  return cursor.checkDepth({ kind: "operation", operation: name, args }, args);
}

/** Returns one operation for a whole chain of the word: a long chain becomes wide, not deep. */
function joined(cursor: Cursor, word: "or" | "and", parse: (cursor: Cursor) => Expression): Expression {
  const first = parse(cursor);
  if (!cursor.isWord(word)) return first;
  const args = [first];
  while (cursor.takeWords(word)) args.push(parse(cursor));
  return operation(cursor, word, ...args);
}

const parseOr = (cursor: Cursor): Expression => joined(cursor, "or", parseAnd);
const parseAnd = (cursor: Cursor): Expression => joined(cursor, "and", parseNot);

function parseNot(cursor: Cursor): Expression {
  if (!cursor.takeWords("not")) return parseComparison(cursor);
  return cursor.nested(() => operation(cursor, "not", parseNot(cursor)));
}

function parseComparison(cursor: Cursor): Expression {
  let left = parseSum(cursor);
  for (;;) {
    const compared = parseCompared(cursor, left);
    if (compared === undefined) return left;
    left = compared;
  }
}

/** Parses the comparison that follows `left`. */
function parseCompared(cursor: Cursor, left: Expression): Expression | undefined {
  const symbol = cursor.peek();
  const comparison = symbol.kind === "symbol" ? COMPARISONS[symbol.text] : undefined;
  if (comparison !== undefined) {
    cursor.next();
    return operation(cursor, comparison, left, parseSum(cursor));
  }
  if (cursor.takeWords("is")) return parseIs(cursor, left);
  const isNot = cursor.isWord("not") && ["in", "like", "between"].some((word) => cursor.isWord(word, 1));
  if (isNot) cursor.next();
  const compared = parseMembership(cursor, left);
  return compared !== undefined && isNot ? operation(cursor, "not", compared) : compared;
}

function parseMembership(cursor: Cursor, left: Expression): Expression | undefined {
  if (cursor.takeWords("in")) return parseIn(cursor, left);
  if (cursor.takeWords("like")) {
    const pattern = parseSum(cursor);
    const escaping = cursor.takeWords("escape") ? [parseSum(cursor)] : [];
    return operation(cursor, "like", left, pattern, ...escaping);
  }
  if (cursor.takeWords("between")) {
    const least = parseSum(cursor);
    cursor.expectWord("and");
    return operation(cursor, "between", left, least, parseSum(cursor));
  }
  return undefined;
}

function parseIs(cursor: Cursor, left: Expression): Expression {
  const isNot = cursor.takeWords("not");
  const negated = (it: Expression): Expression => (isNot ? operation(cursor, "not", it) : it);
  if (cursor.takeWords("null")) return negated(operation(cursor, "is_null", left));
  if (cursor.takeWords("true")) return negated(operation(cursor, "is_true", left));
  if (cursor.takeWords("false")) return negated(operation(cursor, "is_false", left));
  if (cursor.takeWords("distinct", "from")) {
    const same = operation(cursor, "is_same", left, parseSum(cursor));
    return isNot ? same : operation(cursor, "not", same);
  }
  throw cursor.unexpected();
}

function parseIn(cursor: Cursor, operand: Expression): Expression {
  cursor.expectSymbol("(");
  if (cursor.isWord("select") || cursor.isSymbol("(")) {
    // `((SELECT …))` is a query too; a list may also begin with a parenthesis, so the first word inside decides.
    let ahead = 0;
    while (cursor.isSymbol("(", ahead)) ahead += 1;
    if (cursor.isWord("select", ahead) && ahead === 0) {
      const query = cursor.parseQuery(cursor);
      cursor.expectSymbol(")");
      return cursor.checkDepth({ kind: "in", operand, query }, [operand]);
    }
  }
  const items = parseList(cursor);
  cursor.expectSymbol(")");
  return operation(cursor, "in", operand, ...items);
}

export function parseList(cursor: Cursor): readonly Expression[] {
  const items = [parseExpression(cursor)];
  while (cursor.takeSymbol(",")) items.push(parseExpression(cursor));
  return items;
}

function chain(
  cursor: Cursor,
  operators: Readonly<Record<string, Operation>>,
  parse: (cursor: Cursor) => Expression,
): Expression {
  let left = parse(cursor);
  for (;;) {
    const { kind, text } = cursor.peek();
    const name = kind === "symbol" ? operators[text] : undefined;
    if (name === undefined) return left;
    cursor.next();
    left = operation(cursor, name, left, parse(cursor));
  }
}

const parseSum = (cursor: Cursor): Expression => chain(cursor, SUMS, parseProduct);
const parseProduct = (cursor: Cursor): Expression => chain(cursor, PRODUCTS, parseConcatenation);

function parseConcatenation(cursor: Cursor): Expression {
  const first = parseSigned(cursor);
  if (!cursor.isSymbol("||")) return first;
  const args = [first];
  while (cursor.takeSymbol("||")) args.push(parseSigned(cursor));
  return operation(cursor, "concat", ...args);
}

function parseSigned(cursor: Cursor): Expression {
  if (cursor.takeSymbol("-")) return cursor.nested(() => operation(cursor, "neg", parseSigned(cursor)));
  if (cursor.takeSymbol("+")) return cursor.nested(() => operation(cursor, "plus", parseSigned(cursor)));
  let value = parsePrimary(cursor);
  while (cursor.takeSymbol("->>")) value = operation(cursor, "json_text", value, parseKey(cursor));
  return value;
}

function parseKey(cursor: Cursor): Expression {
  if (cursor.takeSymbol("-")) return operation(cursor, "neg", parsePrimary(cursor));
  return parsePrimary(cursor);
}

function parsePrimary(cursor: Cursor): Expression {
  const token = cursor.peek();
  switch (token.kind) {
    case "text":
      cursor.next();
      return { kind: "literal", value: token.text, isReal: false };
    case "number":
      cursor.next();
      return number(token.text);
    case "parameter":
      cursor.next();
      return { kind: "parameter", index: cursor.takeParameter() };
    case "quoted":
      return parseName(cursor);
    case "word":
      return parseWord(cursor, token.text.toLowerCase());
    case "symbol":
      return parseParentheses(cursor);
    case "end":
      throw cursor.unexpected();
    default:
      return token.kind satisfies never;
  }
}

function number(text: string): Expression {
  const value = Number(text);
  const isReal = /[.eE]/.test(text);
  if (!Number.isFinite(value) || (!isReal && !Number.isSafeInteger(value))) {
    throw invalid(`The number ${text.slice(0, 32)} is too large.`);
  }
  return { kind: "literal", value, isReal };
}

function parseParentheses(cursor: Cursor): Expression {
  cursor.expectSymbol("(");
  if (cursor.isWord("select") || cursor.isWord("with")) {
    const query = cursor.parseQuery(cursor);
    cursor.expectSymbol(")");
    return { kind: "scalar", query };
  }
  const inner = parseExpression(cursor);
  cursor.expectSymbol(")");
  return inner;
}

function parseWord(cursor: Cursor, word: string): Expression {
  // A word that is followed by a dot, or not by its usual continuation, is an ordinary name.
  if (!cursor.isSymbol(".", 1)) {
    if (word === "null" || word === "true" || word === "false") {
      cursor.next();
      return { kind: "literal", value: word === "null" ? null : word === "true", isReal: false };
    }
    if (word === "interval" && cursor.peek(1).kind === "text") {
      throw invalid("`INTERVAL` is not known: a span is seconds, as in `epoch(now()) - epoch(created_at) < 86400`.");
    }
    if (word === "case") return cursor.nested(() => parseCase(cursor));
    if (word === "current_timestamp" && !cursor.isSymbol("(", 1)) {
      cursor.next();
      return { kind: "call", name: "now", args: [], isDistinct: false, isStar: false };
    }
    if (cursor.isSymbol("(", 1)) {
      if (word === "cast") return parseCast(cursor);
      if (word === "exists") return parseExists(cursor);
      if (!NO_COLUMNS.has(word)) return parseCall(cursor, word);
    }
    if (NO_COLUMNS.has(word)) throw cursor.unexpected();
  }
  return parseName(cursor);
}

function parseName(cursor: Cursor): Expression {
  const first = cursor.takeName("A name");
  if (!cursor.takeSymbol(".")) return { kind: "column", table: undefined, name: first };
  const name: Name = cursor.takeName("A column");
  if (cursor.isSymbol(".")) throw invalid("A column is named `table.column`; there is nothing above a table.");
  return { kind: "column", table: first, name };
}

function parseCall(cursor: Cursor, name: string): Expression {
  cursor.next();
  cursor.expectSymbol("(");
  if (cursor.takeSymbol("*")) {
    cursor.expectSymbol(")");
    refuseModifiers(cursor);
    return { kind: "call", name, args: [], isDistinct: false, isStar: true };
  }
  const isDistinct = cursor.takeWords("distinct");
  const args = cursor.isSymbol(")") ? [] : parseList(cursor);
  cursor.expectSymbol(")");
  refuseModifiers(cursor);
  return cursor.checkDepth({ kind: "call", name, args, isDistinct, isStar: false }, args);
}

function refuseModifiers(cursor: Cursor): void {
  if (cursor.isWord("over"))
    throw invalid("Window functions (`OVER`) are not known: group in a sub-query and join it.");
  if (cursor.isWord("filter") && cursor.isSymbol("(", 1)) {
    throw invalid("`FILTER` is not known: aggregate a `CASE WHEN … THEN … END`.");
  }
}

function parseExists(cursor: Cursor): Expression {
  cursor.next();
  cursor.expectSymbol("(");
  const query = cursor.parseQuery(cursor);
  cursor.expectSymbol(")");
  return { kind: "exists", query };
}

function parseCast(cursor: Cursor): Expression {
  cursor.next();
  cursor.expectSymbol("(");
  const value = parseExpression(cursor);
  cursor.expectWord("as");
  const type = cursor.takeName("A type").text.toLowerCase();
  const name = Object.hasOwn(CASTS, type) ? CASTS[type] : undefined;
  if (name === undefined)
    throw invalid(`There is no type \`${type}\` to cast to; there are text, integer, real and boolean.`);
  if (type === "double") cursor.takeWords("precision");
  if (cursor.isSymbol("(")) throw invalid("A type takes no length here.");
  cursor.expectSymbol(")");
  return operation(cursor, name, value);
}

function parseCase(cursor: Cursor): Expression {
  cursor.next();
  const operand = cursor.isWord("when") ? undefined : parseExpression(cursor);
  const args: Expression[] = operand === undefined ? [] : [operand];
  while (cursor.takeWords("when")) {
    args.push(parseExpression(cursor));
    cursor.expectWord("then");
    args.push(parseExpression(cursor));
  }
  if (args.length < 2) throw cursor.unexpected();
  args.push(cursor.takeWords("else") ? parseExpression(cursor) : { kind: "literal", value: null, isReal: false });
  cursor.expectWord("end");
  return operation(cursor, operand === undefined ? "case" : "case_of", ...args);
}
