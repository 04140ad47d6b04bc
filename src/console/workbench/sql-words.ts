/**
 * Vocabulary of the gateway's SQL as data: what completion offers after each part of a statement. Only the gateway decides what
 * is valid; a test compares the functions with its own table.
 */

/** Functions, called with parentheses. */
export const FUNCTIONS = [
  "abs",
  "avg",
  "ceil",
  "ceiling",
  "coalesce",
  "count",
  "epoch",
  "floor",
  "group_concat",
  "ifnull",
  "instr",
  "json_array_length",
  "length",
  "lower",
  "ltrim",
  "max",
  "min",
  "now",
  "nullif",
  "replace",
  "round",
  "rtrim",
  "substr",
  "substring",
  "sum",
  "trim",
  "upper",
] as const;

/** Clause at the cursor; `start` is the beginning of a statement or a sub-query. */
export type Clause =
  | "start"
  | "with"
  | "select"
  | "from"
  | "on"
  | "using"
  | "where"
  | "group"
  | "having"
  | "order"
  | "limit";

/** Clause by the word that begins it. A `join` counts as `from`. */
export const CLAUSE_OF: ReadonlyMap<string, Clause> = new Map<string, Clause>([
  ["with", "with"],
  ["select", "select"],
  ["from", "from"],
  ["join", "from"],
  ["on", "on"],
  ["using", "using"],
  ["where", "where"],
  ["group", "group"],
  ["having", "having"],
  ["order", "order"],
  ["limit", "limit"],
  ["offset", "limit"],
]);

/** Words between two SELECTs of one statement. */
export const SET_WORDS: ReadonlySet<string> = new Set(["union", "except", "intersect"]);

const SETS = ["union", "union all", "except", "intersect"];
const OPERATORS = ["and", "or", "in (", "like", "between", "is null", "is not null", "not in (", "not like"];
const VALUES = ["not", "null", "true", "false", "case", "cast(", "exists ("];
const BRANCHES = ["when", "then", "else", "end"];
const TAIL = ["limit", ...SETS];

/** Words offered after a complete part: a name, a value, a closing parenthesis. */
export const AFTER_OPERAND: Readonly<Record<Clause, readonly string[]>> = {
  start: [],
  with: ["as (", "select"],
  select: ["from", "as", ...OPERATORS, ...BRANCHES],
  from: ["where", "join", "left join", "cross join", "on", "using (", "as", "group by", "order by", ...TAIL],
  on: [...OPERATORS, "where", "join", "left join", "group by", "order by", ...TAIL, ...BRANCHES],
  using: ["where", "join", "left join", "group by", "order by", ...TAIL],
  where: [...OPERATORS, "group by", "order by", ...TAIL, ...BRANCHES],
  group: ["having", "order by", ...TAIL, ...BRANCHES],
  having: [...OPERATORS, "order by", ...TAIL, ...BRANCHES],
  order: ["desc", "asc", "nulls first", "nulls last", "limit", ...BRANCHES],
  limit: ["offset", ...SETS],
};

/** Words offered where a value may begin. */
export const BEFORE_OPERAND: Readonly<Record<Clause, readonly string[]>> = {
  start: ["select", "with"],
  with: [],
  select: ["distinct", ...VALUES],
  from: [],
  on: VALUES,
  using: [],
  where: VALUES,
  group: VALUES,
  having: VALUES,
  order: VALUES,
  limit: [],
};

/** Words that begin the next part of a statement, so that none of them is an alias. */
export const RESERVED: ReadonlySet<string> = new Set(
  (
    "all and as asc between by case cross desc distinct else end escape except exists fetch from full group having in " +
    "inner intersect is join left like limit natural not null nulls offset on or order outer right select then union " +
    "using when where window with"
  ).split(" "),
);
