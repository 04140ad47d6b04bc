/**
 * What a position in a statement can see, told from its tokens without parsing it: the part of the SELECT that it stands
 * in, and the tables of that SELECT and of those around it, also where they are named after it. Parentheses are groups;
 * group 0 is the statement's own.
 */

import type { SqlToken } from "./sql-tokens.ts";
import { CLAUSE_OF, type Clause, RESERVED, SET_WORDS } from "./sql-words.ts";

/** A source of a SELECT; a sub-query has the columns that it names. */
export interface Source {
  readonly table: string | undefined;
  readonly alias: string | undefined;
  readonly columns: readonly string[] | undefined;
  /** 0: of the SELECT that the position stands in, 1: of the one around it, and so on. */
  readonly level: number;
}

/** A table of WITH. */
export interface SharedTable {
  readonly name: string;
  readonly columns: readonly string[];
}

export interface Scope {
  readonly clause: Clause;
  /** Of the innermost SELECT first. */
  readonly sources: readonly Source[];
  readonly shared: readonly SharedTable[];
}

/** More than a statement may join. */
const MAX_SOURCES = 64;

interface Group {
  readonly parent: number;
  /** Index of its `(`; -1 for group 0. */
  readonly open: number;
}

interface Outline {
  /** Without comments. */
  readonly tokens: readonly SqlToken[];
  /** Of each token; a parenthesis belongs to the group around it. */
  readonly groupOf: readonly number[];
  readonly groups: readonly Group[];
  /** Indexes of each group's own tokens, in order. */
  readonly members: readonly (readonly number[])[];
  /** By the index of a `(`. */
  readonly opens: ReadonlyMap<number, number>;
}

const isSymbol = (token: SqlToken | undefined, text: string): boolean =>
  token?.kind === "symbol" && token.text === text;

const wordOf = (token: SqlToken | undefined): string | undefined =>
  token?.kind === "word" ? token.text.toLowerCase() : undefined;

/** A name: quoted, or a word that begins nothing. */
const nameOf = (token: SqlToken | undefined): string | undefined =>
  token?.kind === "quoted" || (token?.kind === "word" && !RESERVED.has(token.text.toLowerCase()))
    ? token.text
    : undefined;

/** Before it a value is wanted: what comes next is no keyword that ends one. */
const BEFORE_VALUE: ReadonlySet<string> = new Set(
  "select distinct by and or not where on having when then else".split(" "),
);

/** What a word begins; undefined for a name, and for the column `limit`, which stands where a value is wanted. */
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

/** `tokens` without comments; `at`: where the word that is written begins. */
export function scopeAt(tokens: readonly SqlToken[], at: number): Scope {
  const outline = outlineOf(tokens);
  const shared = sharedTables(outline);
  const sources: Source[] = [];
  let level = 0;
  for (let group = groupAt(outline, at); ; group = outline.groups[group]?.parent ?? 0) {
    const own = sourcesOf(outline, segmentOf(outline, group, at), level);
    sources.push(...own);
    // Parentheses of an expression are no SELECT of their own.
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

/** Tokens of the one SELECT of a group that the position stands in. */
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

/** What FROM and JOIN of one SELECT name. */
function sourcesOf(outline: Outline, segment: readonly number[], level: number): readonly Source[] {
  const { tokens, opens } = outline;
  const sources: Source[] = [];
  let clause: Clause | undefined;
  for (let step = 0; step < segment.length; step += 1) {
    const index = segment[step] ?? 0;
    const begun = clauseOf(tokens, index);
    if (begun !== undefined) clause = begun;
    const isBefore = begun === "from" || (isSymbol(tokens[index], ",") && (clause === "from" || clause === "on"));
    if (!isBefore) continue;
    clause = "from";
    const source = segment[step + 1] ?? -1;
    const inner = opens.get(source);
    const table = inner === undefined ? nameOf(tokens[source]) : undefined;
    if (inner === undefined && table === undefined) continue;
    // Of a sub-query the closing parenthesis comes next in the group.
    let next = step + (inner === undefined ? 2 : 3);
    if (wordOf(tokens[segment[next] ?? -1]) === "as") next += 1;
    const alias = nameOf(tokens[segment[next] ?? -1]);
    sources.push({ table, alias, columns: inner === undefined ? undefined : outputsOf(outline, inner), level });
    step = alias === undefined ? next - 1 : next;
  }
  return sources;
}

/** Names of the columns of the first SELECT in a group, as far as they have one. */
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

/** `with name (columns) as (…), …` at the beginning. */
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
    // Its parentheses, then the comma before the next one.
    step += 3;
    if (!isSymbol(tokens[own[step] ?? -1], ",")) break;
  }
  return shared;
}

const namesIn = ({ tokens, members }: Outline, group: number): readonly string[] =>
  (members[group] ?? []).flatMap((index) => nameOf(tokens[index]) ?? []);
