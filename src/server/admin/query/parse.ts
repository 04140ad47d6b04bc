/**
 * Parses one SELECT with its parts, set operations and common tables. Well-known SQL that is not supported gets a specific
 * message.
 */

import { type Cursor, openCursor } from "./cursor.ts";
import { parseExpression, parseList } from "./parse-expression.ts";
import type { Body, CommonTable, FromItem, Name, OrderItem, Output, Query, Select, Statement } from "./syntax.ts";
import { invalid, tokenize } from "./tokens.ts";

/** Maximum number of sources of one SELECT; joins recurse as deep. */
const MAX_SOURCES = 16;
const MAX_OUTPUTS = 500;
/** Maximum number of items of an ORDER BY, a GROUP BY or a USING: each is compared with each. */
const MAX_ITEMS = 64;

export function parseStatement(sql: string): Statement {
  const cursor = openCursor(sql, tokenize(sql), parseQuery);
  const tables = cursor.takeWords("with") ? parseCommonTables(cursor) : [];
  if (!cursor.isWord("select") && !cursor.isSymbol("(")) throw noSelect(cursor);
  const query = parseQuery(cursor);
  cursor.takeSymbol(";");
  if (cursor.peek().kind !== "end") {
    throw cursor.isSymbol(";") || /;\s*$/.test(cursor.textBetween(0, cursor.peek().at))
      ? invalid("A query is one statement.")
      : cursor.unexpected();
  }
  return { tables, query, parameters: cursor.parameterCount() };
}

function noSelect(cursor: Cursor): Error {
  const { kind, text } = cursor.peek();
  if (kind === "end") return invalid("The statement is empty.");
  return invalid(
    `A query is one SELECT, which may begin with WITH${kind === "word" ? `; \`${text}\` is not known` : ""}.`,
  );
}

function parseCommonTables(cursor: Cursor): readonly CommonTable[] {
  if (cursor.isWord("recursive") && !cursor.isWord("as", 1)) throw invalid("`WITH RECURSIVE` is not known.");
  const tables: CommonTable[] = [];
  do {
    const name = cursor.takeName("The name of a common table");
    const columns: Name[] = [];
    if (cursor.takeSymbol("(")) {
      do columns.push(cursor.takeName("The name of a column"));
      while (cursor.takeSymbol(","));
      cursor.expectSymbol(")");
    }
    cursor.expectWord("as");
    cursor.expectSymbol("(");
    const query = parseQuery(cursor);
    cursor.expectSymbol(")");
    tables.push({ name, columns, query });
  } while (cursor.takeSymbol(","));
  return tables;
}

function parseQuery(cursor: Cursor): Query {
  return cursor.nested(() => {
    if (cursor.isWord("with")) throw invalid("`WITH` is only allowed at the beginning of the statement.");
    const body = parseUnion(cursor);
    const order = cursor.takeWords("order", "by") ? parseOrder(cursor) : [];
    const limit = cursor.takeWords("limit") ? parseExpression(cursor) : undefined;
    if (limit !== undefined && cursor.isSymbol(","))
      throw invalid("`LIMIT a, b` is not known: write LIMIT and OFFSET.");
    const offset = cursor.takeWords("offset") ? parseExpression(cursor) : undefined;
    if (cursor.isWord("fetch")) throw invalid("`FETCH` is not known: write LIMIT.");
    return { body, order, limit, offset };
  });
}

function parseUnion(cursor: Cursor): Body {
  let left = parseIntersection(cursor);
  for (;;) {
    const operator = cursor.takeWords("union") ? "union" : cursor.takeWords("except") ? "except" : undefined;
    if (operator === undefined) return left;
    const isAll = takeAll(cursor, operator);
    left = {
      kind: "set",
      operator: isAll ? "union all" : operator,
      left,
      right: parseIntersection(cursor),
    };
  }
}

function parseIntersection(cursor: Cursor): Body {
  let left = parseOperand(cursor);
  while (cursor.takeWords("intersect")) {
    takeAll(cursor, "intersect");
    left = { kind: "set", operator: "intersect", left, right: parseOperand(cursor) };
  }
  return left;
}

function takeAll(cursor: Cursor, operator: string): boolean {
  const isAll = cursor.takeWords("all");
  if (!isAll) cursor.takeWords("distinct");
  if (isAll && operator !== "union") throw invalid(`\`${operator.toUpperCase()} ALL\` is not known.`);
  return isAll;
}

function parseOperand(cursor: Cursor): Body {
  if (!cursor.takeSymbol("(")) return parseSelect(cursor);
  const query = parseQuery(cursor);
  cursor.expectSymbol(")");
  return { kind: "nested", query };
}

function parseSelect(cursor: Cursor): Select {
  cursor.countSelect();
  cursor.expectWord("select");
  const isDistinct = cursor.takeWords("distinct");
  if (!isDistinct) cursor.takeWords("all");
  const outputs = [parseOutput(cursor)];
  while (cursor.takeSymbol(",")) outputs.push(parseOutput(cursor));
  if (outputs.length > MAX_OUTPUTS) throw invalid(`A SELECT may have ${MAX_OUTPUTS} columns.`);
  if (cursor.isWord("into")) throw invalid("`INTO` is not known: a query changes nothing.");
  const from = cursor.takeWords("from") ? parseFrom(cursor) : [];
  const where = cursor.takeWords("where") ? parseExpression(cursor) : undefined;
  const group = cursor.takeWords("group", "by") ? bounded(parseList(cursor), "GROUP BY") : [];
  const having = cursor.takeWords("having") ? parseExpression(cursor) : undefined;
  return { kind: "select", isDistinct, outputs, from, where, group, having };
}

function parseOutput(cursor: Cursor): Output {
  if (cursor.takeSymbol("*")) return { kind: "all", table: undefined };
  if (cursor.isSymbol(".", 1) && cursor.isSymbol("*", 2)) {
    const table = cursor.takeName("A table");
    cursor.next();
    cursor.next();
    return { kind: "all", table };
  }
  const from = cursor.peek().at;
  const value = parseExpression(cursor);
  const text = cursor.textBetween(from, cursor.peek(-1).end);
  const alias = cursor.takeWords("as") ? cursor.takeName("An alias") : cursor.takeAlias();
  return { kind: "value", value, alias, text };
}

function parseFrom(cursor: Cursor): readonly FromItem[] {
  const items = [parseSource(cursor, "inner")];
  for (;;) {
    const item = parseJoin(cursor);
    if (item === undefined) return items;
    items.push(item);
    if (items.length > MAX_SOURCES) throw invalid(`A SELECT may join ${MAX_SOURCES} tables.`);
  }
}

function parseJoin(cursor: Cursor): FromItem | undefined {
  if (cursor.takeSymbol(",") || cursor.takeWords("cross", "join")) {
    const item = parseSource(cursor, "inner");
    if (cursor.isWord("on") || cursor.isWord("using")) throw invalid("A cross join has no condition.");
    return item;
  }
  for (const kind of ["right", "full", "natural"]) {
    const isJoin = cursor.isWord(kind) && ["join", "outer", "left", "inner"].some((word) => cursor.isWord(word, 1));
    if (isJoin) throw invalid(`\`${kind.toUpperCase()} JOIN\` is not known: there are INNER, LEFT and CROSS.`);
  }
  const isLeft = cursor.takeWords("left", "outer", "join") || cursor.takeWords("left", "join");
  if (!isLeft && !cursor.takeWords("inner", "join") && !cursor.takeWords("join")) return undefined;
  const { source, alias } = parseSource(cursor, "inner");
  const join = isLeft ? "left" : "inner";
  if (cursor.takeWords("on")) return { join, source, alias, on: parseExpression(cursor), using: [] };
  if (!cursor.takeWords("using")) throw invalid("A join needs ON or USING; CROSS JOIN has none.");
  cursor.expectSymbol("(");
  const using = [cursor.takeName("A column")];
  while (cursor.takeSymbol(",")) using.push(cursor.takeName("A column"));
  cursor.expectSymbol(")");
  return { join, source, alias, on: undefined, using: bounded(using, "USING") };
}

function parseSource(cursor: Cursor, join: FromItem["join"]): FromItem {
  if (cursor.takeSymbol("(")) {
    if (!cursor.isWord("select") && !cursor.isSymbol("(")) throw cursor.unexpected();
    const query = parseQuery(cursor);
    cursor.expectSymbol(")");
    const alias = parseAlias(cursor);
    if (alias === undefined) throw invalid("A sub-query in FROM needs an alias.");
    return { join, source: { kind: "query", query }, alias, on: undefined, using: [] };
  }
  const name = cursor.takeAlias();
  if (name === undefined) throw cursor.unexpected();
  if (cursor.isSymbol("(")) throw invalid(`\`${name.text}(…)\` is not a table: FROM takes tables and sub-queries.`);
  if (cursor.isSymbol(".")) throw invalid(`\`${name.text}.\` is not known: tables have no schema or database.`);
  return { join, source: { kind: "table", name }, alias: parseAlias(cursor), on: undefined, using: [] };
}

function parseAlias(cursor: Cursor): Name | undefined {
  return cursor.takeWords("as") ? cursor.takeName("An alias") : cursor.takeAlias();
}

function parseOrder(cursor: Cursor): readonly OrderItem[] {
  const items: OrderItem[] = [];
  do {
    const value = parseExpression(cursor);
    const isDescending = cursor.takeWords("desc");
    if (!isDescending) cursor.takeWords("asc");
    const nulls = cursor.takeWords("nulls", "first") ? true : cursor.takeWords("nulls", "last") ? false : undefined;
    // NULL is the lowest value by default.
    items.push({ value, isDescending, nullsFirst: nulls ?? !isDescending });
  } while (cursor.takeSymbol(","));
  return bounded(items, "ORDER BY");
}

function bounded<T>(items: readonly T[], clause: string): readonly T[] {
  if (items.length > MAX_ITEMS) throw invalid(`${clause} may have ${MAX_ITEMS} items.`);
  return items;
}
