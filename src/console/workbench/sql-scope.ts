/**
 * Scope at a position of a statement, derived from its tokens without parsing: the clause of the SELECT, and the tables of that
 * SELECT and of the surrounding ones, also if they are named later. Parentheses are groups; group 0 is the statement itself.
 */

import type { SqlToken } from "./sql-tokens.ts";
import { CLAUSE_OF, type Clause, RESERVED, SET_WORDS } from "./sql-words.ts";

/** Source of a SELECT; a sub-query has the columns that it names. */
export interface Source {
  readonly table: string | undefined;
  readonly alias: string | undefined;
  readonly columns: readonly string[] | undefined;
  /** Nesting level: 0 is the SELECT at the position, 1 the surrounding one, and so on. */
  readonly level: number;
}

/** Table of a WITH clause. */
interface SharedTable {
  readonly name: string;
  readonly columns: readonly string[];
}

export interface Scope {
  readonly clause: Clause;
  /** Sources of the innermost SELECT first. */
  readonly sources: readonly Source[];
  readonly shared: readonly SharedTable[];
}

/** Maximum number of sources; more than a statement may join. */
const MAX_SOURCES = 64;

interface Group {
  readonly parent: number;
  /** Index of its `(`; -1 for group 0. */
  readonly open: number;
}

interface Outline {
  /** Tokens without comments. */
  readonly tokens: readonly SqlToken[];
  /** Group of each token; a parenthesis belongs to the surrounding group. */
  readonly groupOf: readonly number[];
  readonly groups: readonly Group[];
  /** Indices of each group's own tokens, in order. */
  readonly members: readonly (readonly number[])[];
  /** Group by the index of its `(`. */
  readonly opens: ReadonlyMap<number, number>;
}

const isSymbol = (token: SqlToken | undefined, text: string): boolean =>
  token?.kind === "symbol" && token.text === text;

const wordOf = (token: SqlToken | undefined): string | undefined =>
  token?.kind === "word" ? token.text.toLowerCase() : undefined;

/** Returns a name: a quoted one, or a word that is not reserved. */
const nameOf = (token: SqlToken | undefined): string | undefined =>
  token?.kind === "quoted" || (token?.kind === "word" && !RESERVED.has(token.text.toLowerCase()))
    ? token.text
    : undefined;

/** Words that precede a value, so that the next word is part of the value and not a keyword that ends it. */
const BEFORE_VALUE: ReadonlySet<string> = new Set(
  "select distinct by and or not where on having when then else".split(" "),
);

/** Returns the clause that a word begins; `undefined` for a name, and for the column `limit`, where a value is expected. */
function clauseOf(tokens: readonly SqlToken[], index: number | undefined): Clause | undefined {
  const at = index ?? -1;
  const clause = CLAUSE_OF.get(wordOf(tokens[at]) ?? "");
  const before = tokens[at - 1];
  if (clause !== "limit") return clause;
  const isValue = (before?.kind === "symbol" && !")*".includes(before.text)) || BEFORE_VALUE.has(wordOf(before) ?? "");
  return isValue ? undefined : clause;
}

function outlineOf(tokens: readonly SqlToken[]): Outline {
  const groups: Group[] = [{ parent: 0, open: -1 }];
  const members: number[][] = [[]];
  const opens = new Map<number, number>();
  const groupOf: number[] = [];
  let group = 0;
  for (const [index, token] of tokens.entries()) {
    if (isSymbol(token, ")")) group = groups[group]?.parent ?? 0;
    groupOf.push(group);
    members[group]?.push(index);
    if (!isSymbol(token, "(")) continue;
    opens.set(index, groups.length);
    groups.push({ parent: group, open: index });
    members.push([]);
    group = groups.length - 1;
  }
  return { tokens, groupOf, groups, members, opens };
}

/** Determines the scope at a position. `tokens` has no comments; `at` is the start of the word at the cursor. */
export function scopeAt(tokens: readonly SqlToken[], at: number): Scope {
  const outline = outlineOf(tokens);
  const shared = sharedTables(outline);
  const sources: Source[] = [];
  let level = 0;
  for (let group = groupAt(outline, at); ; group = outline.groups[group]?.parent ?? 0) {
    const own = sourcesOf(outline, segmentOf(outline, group, at), level);
    sources.push(...own);
    // Parentheses of an expression are not a SELECT.
    if (own.length > 0) level += 1;
    if (group === 0) break;
  }
  return { clause: clauseAt(outline, at), sources: sources.slice(0, MAX_SOURCES), shared };
}

function groupAt({ tokens, groupOf, opens }: Outline, at: number): number {
  const after = tokens.findIndex(({ to }) => to > at);
  const last = (after < 0 ? tokens.length : after) - 1;
  return opens.get(last) ?? groupOf[last] ?? 0;
}

/** Returns the tokens of the group's SELECT that contains the position. */
function segmentOf({ tokens, members }: Outline, group: number, at: number): readonly number[] {
  let segment: number[] = [];
  for (const index of members[group] ?? []) {
    const token = tokens[index];
    const isBetween = isSymbol(token, ";") || SET_WORDS.has(wordOf(token) ?? "");
    if (!isBetween) segment.push(index);
    else if ((token?.from ?? 0) >= at) break;
    else segment = [];
  }
  return segment;
}

function clauseAt(outline: Outline, at: number): Clause {
  let group = groupAt(outline, at);
  let before = at;
  for (;;) {
    const segment = segmentOf(outline, group, before);
    const begins = segment.findLast(
      (index) => (outline.tokens[index]?.to ?? 0) <= before && clauseOf(outline.tokens, index) !== undefined,
    );
    const clause = clauseOf(outline.tokens, begins);
    const { open, parent } = outline.groups[group] ?? { open: -1, parent: 0 };
    if (clause !== undefined || open < 0) return clause ?? "start";
    const opener = wordOf(outline.tokens[open - 1]);
    if (opener === "from" || opener === "join" || opener === "as" || opener === "exists") return "start";
    before = outline.tokens[open]?.from ?? 0;
    group = parent;
  }
}

/** Returns the sources in FROM and JOIN of one SELECT. */
function sourcesOf(outline: Outline, segment: readonly number[], level: number): readonly Source[] {
  const { tokens, opens } = outline;
  const sources: Source[] = [];
  let clause: Clause | undefined;
  for (let step = 0; step < segment.length; step += 1) {
    const index = segment[step] ?? 0;
    const startedClause = clauseOf(tokens, index);
    if (startedClause !== undefined) clause = startedClause;
    const isBefore =
      startedClause === "from" || (isSymbol(tokens[index], ",") && (clause === "from" || clause === "on"));
    if (!isBefore) continue;
    clause = "from";
    const source = segment[step + 1] ?? -1;
    const inner = opens.get(source);
    const table = inner === undefined ? nameOf(tokens[source]) : undefined;
    if (inner === undefined && table === undefined) continue;
    // For a sub-query, the closing parenthesis is the next token of the group.
    let next = step + (inner === undefined ? 2 : 3);
    if (wordOf(tokens[segment[next] ?? -1]) === "as") next += 1;
    const alias = nameOf(tokens[segment[next] ?? -1]);
    sources.push({ table, alias, columns: inner === undefined ? undefined : outputsOf(outline, inner), level });
    step = alias === undefined ? next - 1 : next;
  }
  return sources;
}

/** Returns the column names of the first SELECT in a group, for columns that have one. */
function outputsOf({ tokens, members }: Outline, group: number): readonly string[] {
  const own = members[group] ?? [];
  const names: string[] = [];
  if (wordOf(tokens[own[0] ?? -1]) !== "select") return names;
  for (const [step, index] of own.entries()) {
    const next = tokens[own[step + 1] ?? -1];
    const isLast = next === undefined || isSymbol(next, ",") || wordOf(next) === "from";
    const name = nameOf(tokens[index]);
    if (isLast && name !== undefined) names.push(name);
    if (next === undefined || wordOf(next) === "from") break;
  }
  return names;
}

/** Returns the tables of `with name (columns) as (…), …` at the beginning. */
function sharedTables(outline: Outline): readonly SharedTable[] {
  const { tokens, members, opens } = outline;
  const own = members[0] ?? [];
  const shared: SharedTable[] = [];
  if (wordOf(tokens[own[0] ?? -1]) !== "with") return shared;
  for (let step = 1; step < own.length; step += 1) {
    const name = nameOf(tokens[own[step] ?? -1]);
    if (name === undefined) break;
    const list = opens.get(own[step + 1] ?? -1);
    const columns = list === undefined ? undefined : namesIn(outline, list);
    step += list === undefined ? 1 : 3;
    if (wordOf(tokens[own[step] ?? -1]) !== "as") break;
    const body = opens.get(own[step + 1] ?? -1);
    shared.push({ name, columns: columns ?? (body === undefined ? [] : outputsOf(outline, body)) });
    // Skips its parentheses, then the comma before the next one.
    step += 3;
    if (!isSymbol(tokens[own[step] ?? -1], ",")) break;
  }
  return shared;
}

const namesIn = ({ tokens, members }: Outline, group: number): readonly string[] =>
  (members[group] ?? []).flatMap((index) => nameOf(tokens[index]) ?? []);
