/**
 * Completion of SQL statements at the cursor: tables after FROM and JOIN, columns after a table name and a dot, otherwise
 * columns of the SELECT's tables, functions and keywords. Nothing inside strings and comments.
 */

import type { QueryTables } from "../../admin-api/index.ts";
import { type Scope, type Source, scopeAt } from "./sql-scope.ts";
import { type SqlToken, tokenizeSql } from "./sql-tokens.ts";
import { AFTER_OPERAND, BEFORE_OPERAND, CLAUSE_OF, FUNCTIONS, RESERVED, SET_WORDS } from "./sql-words.ts";

export type Tables = QueryTables["items"];

interface Completion {
  /** Start of the word, which ends at the cursor. */
  readonly from: number;
  /** Candidates, best first; never empty. */
  readonly candidates: readonly string[];
}

const MAX_CANDIDATES = 200;

/** Returns the completion at the cursor; `undefined` if there is nothing to offer. `at` is the UTF-16 index of the cursor. */
export function complete(sql: string, at: number, tables: Tables): Completion | undefined {
  const all = tokenizeSql(sql);
  if (all.some((token) => isInside(token, at))) return undefined;
  // Beyond the last token examined, the context is unknown.
  if (all.length > 0 && sql.slice(all.at(-1)?.to, at).trim() !== "") return undefined;
  const tokens = all.filter(({ kind }) => kind !== "comment");
  const written = tokens.find(({ kind, from, to }) => kind === "word" && from < at && at <= to);
  const from = written?.from ?? at;
  const before = tokens.filter(({ to }) => to <= from);
  const others = tokens.filter((token) => token !== written);
  const texts = candidatesFor(before, scopeAt(others, from), tables, at > from);
  return matching(texts, sql.slice(from, at), from);
}

/** Returns whether the position is inside a string, a comment, a quoted name or a number, where no word is completed. */
function isInside({ kind, from, to, isOpen }: SqlToken, at: number): boolean {
  if (kind === "number") return from < at && at <= to;
  if (kind !== "text" && kind !== "comment" && kind !== "quoted") return false;
  return from < at && (at < to || (isOpen && at === to));
}

function candidatesFor(before: readonly SqlToken[], scope: Scope, tables: Tables, isBegun: boolean): readonly string[] {
  const last = before.at(-1);
  if (isPoint(last)) return columnsOfName(before.at(-2), scope, tables);
  const word = last?.kind === "word" ? last.text.toLowerCase() : undefined;
  const { clause } = scope;
  const isTable = word === "from" || word === "join" || (clause === "from" && last?.text === ",");
  if (isTable) return [...scope.shared.map(({ name }) => name), ...tables.map(({ name }) => name)].flatMap(written);
  // An alias is chosen by the operator, so there is nothing to offer.
  if (word === "as" && clause !== "with") return [];
  const after = AFTER_OPERAND[clause];
  if (word === "left") return ["join"];
  if (word === "nulls") return ["first", "last"];
  if (word === "is") return ["null", "not null", "true", "false"];
  if (word === "group" || word === "order") return ["by"];
  if (clause === "start") return SET_WORDS.has(word ?? "") ? ["select", "all"] : BEFORE_OPERAND.start;
  if (clause === "with" || clause === "limit" || clause === "from") return isOperand(before) ? after : [];
  if (clause === "using") return last?.text === ")" ? after : joinedColumns(scope, tables);
  const columns = columnsOfScope(scope, tables, isBegun);
  const functions = FUNCTIONS.map((name) => `${name}(`);
  const values = [...columns, ...aliasesOf(scope), ...functions, ...BEFORE_OPERAND[clause]];
  // The preceding name may be complete or the beginning of an alias, so values are offered too.
  return isOperand(before) ? [...after, ...(isBegun ? values : [])] : [...values, ...(isBegun ? after : [])];
}

const isPoint = (token: SqlToken | undefined): boolean => token?.kind === "symbol" && token.text === ".";

/** Returns whether the last token ends a value or a table. */
function isOperand(before: readonly SqlToken[]): boolean {
  const last = before.at(-1);
  if (last === undefined) return false;
  if (last.kind === "symbol") return last.text === ")" || last.text === "*";
  if (last.kind !== "word" || isPoint(before.at(-2))) return true;
  const word = last.text.toLowerCase();
  return word === "null" || word === "end" || (!RESERVED.has(word) && !CLAUSE_OF.has(word));
}

function columnsOfName(name: SqlToken | undefined, scope: Scope, tables: Tables): readonly string[] {
  if (name?.kind !== "word" && name?.kind !== "quoted") return [];
  const source = scope.sources.find(({ table, alias }) => isSame(alias ?? table, name.text)) ?? {
    table: name.text,
    alias: undefined,
    columns: undefined,
    level: 0,
  };
  return columnsOf(source, scope, tables).flatMap(written);
}

/**
 * Returns the columns in scope. A name that several sources of a SELECT have, or that an inner SELECT has too, is qualified by
 * its table.
 */
function columnsOfScope(scope: Scope, tables: Tables, isBegun: boolean): readonly string[] {
  // Without a FROM any table is possible; all their columns are too many to offer at once.
  if (scope.sources.length === 0) {
    return isBegun ? tables.flatMap(({ columns }) => columns.flatMap(({ name }) => written(name))) : [];
  }
  const lists = scope.sources.map((source) => ({ source, names: columnsOf(source, scope, tables).flatMap(written) }));
  return lists.flatMap(({ source, names }) => {
    const [before] = written(source.alias ?? source.table ?? "");
    const nearer = lists.filter((other) => other.source.level < source.level).flatMap((other) => other.names);
    const beside = lists.filter((other) => other.source.level === source.level).map((other) => other.names);
    const unclear = new Set([...nearer, ...sharedNames(beside)]);
    return names.map((name) => (unclear.has(name) && before !== undefined ? `${before}.${name}` : name));
  });
}

/** Returns the columns for USING: those that several tables of the SELECT have. */
function joinedColumns(scope: Scope, tables: Tables): readonly string[] {
  const own = scope.sources.filter(({ level }) => level === 0);
  return [...sharedNames(own.map((source) => columnsOf(source, scope, tables).flatMap(written)))];
}

function sharedNames(lists: readonly (readonly string[])[]): ReadonlySet<string> {
  const seen = new Set<string>();
  const shared = new Set<string>();
  for (const name of lists.flatMap((names) => [...new Set(names)])) {
    if (seen.has(name)) shared.add(name);
    seen.add(name);
  }
  return shared;
}

function columnsOf({ table, columns }: Source, { shared }: Scope, tables: Tables): readonly string[] {
  if (columns !== undefined) return columns;
  const own = shared.find(({ name }) => isSame(name, table));
  if (own !== undefined) return own.columns;
  return tables.find(({ name }) => isSame(name, table))?.columns.map(({ name }) => name) ?? [];
}

const aliasesOf = ({ sources }: Scope): readonly string[] =>
  sources.length < 2
    ? []
    : sources.flatMap(({ table, alias }) => written(alias ?? table ?? "").map((name) => `${name}.`));

const isSame = (a: string | undefined, b: string | undefined): boolean =>
  a !== undefined && b !== undefined && a.toLowerCase() === b.toLowerCase();

/** Returns the name in the statement's syntax; an empty list if it cannot be written. */
function written(name: string): readonly string[] {
  if (/^[A-Za-z_][A-Za-z0-9_]{0,63}$/.test(name)) return [name];
  return /^[\x20-\x7e]{1,64}$/.test(name) ? [`"${name.replaceAll('"', '""')}"`] : [];
}

function matching(texts: readonly string[], prefix: string, from: number): Completion | undefined {
  const wanted = prefix.toLowerCase();
  const isShouted = /^[A-Z][A-Z_]*$/.test(prefix) && prefix.length > 1;
  const begins = (text: string): boolean => text.length > prefix.length && text.toLowerCase().startsWith(wanted);
  // `na` also matches `k.name`, since the operator looks for the column.
  const fitting = texts.filter((word) => begins(word) || (wanted !== "" && begins(word.slice(word.indexOf(".") + 1))));
  const unique = [...new Set(fitting)].slice(0, MAX_CANDIDATES);
  return unique.length === 0
    ? undefined
    : { from, candidates: isShouted ? unique.map((word) => word.toUpperCase()) : unique };
}
