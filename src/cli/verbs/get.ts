/**
 * `gateway get [LIST [NAME...]]`: prints rows of a list of the admin API. Without a list it prints the names of the
 * lists; with one name, the whole record; with `-watch`, rows again as they change.
 */

import { type AdminClient, LIST_GROUPS, type OperationId } from "../../admin-api/index.ts";
import { escapeControls } from "../../base/index.ts";
import { joinLines, writeAll } from "../copy-streams.ts";
import type { Format, getFlags } from "../operate/operate-flags.ts";
import {
  ALL_LISTS,
  type ColumnSpec,
  columnsOf,
  isMeasured,
  type ListSpec,
  listNamed,
  nameOf,
  type Row,
} from "../operate/printable-lists.ts";
import { type Condition, columnNamed, conditionOf } from "../operate/row-conditions.ts";
import { linesOf, pick, recordLines } from "../operate/rows-text.ts";
import { unknownName } from "../operate/unknown-name.ts";
import { type GatewayConnection, withGateway } from "../operate/with-gateway.ts";
import { type FlagsOf, UsageError } from "../parse-flags.ts";
import type { ExitStatus, Io } from "../process-io.ts";
import { tableLines } from "../table-text.ts";

type Options = FlagsOf<typeof getFlags>;

/** Maximum duration of a blocking read, after which the gateway answers even if nothing has changed. */
const WATCH_WAIT = "60s";
const WATCH_LIMIT_MS = 90_000;

export async function run(options: Options, [listName, ...names]: readonly string[], io: Io): Promise<ExitStatus> {
  if (listName === undefined) return await printLists(io);
  const list = listNamed(listName);
  const request = listRequestOf(list, names, options, io.now());
  return await withGateway("get", options, io, async ({ client, address }) => {
    if (options.watch) io.watchReader();
    const first = await readList(client, request, options, io.signal);
    reportMissing(first, io);
    const missing = names.filter((name) => !first.items.some((row) => isNamed(list, row, name)));
    if (missing.length > 0) {
      const known = [...new Set(first.items.map((row) => nameOf(list, row)))];
      for (const name of missing) io.stderr.write(`gateway get: ${unknownName(`row of ${list.table}`, name, known)}\n`);
      return 1;
    }
    await print(request, first.items.filter(request.isWanted), options, io);
    if (options.watch) return await follow({ client, address }, request, first, options, io);
    return 0;
  });
}

interface ListRequest {
  readonly list: ListSpec;
  readonly names: readonly string[];
  readonly columns: readonly ColumnSpec[];
  readonly isWanted: Condition;
  readonly sort: ((a: Row, b: Row) => number) | undefined;
}

function listRequestOf(list: ListSpec, names: readonly string[], options: Options, now: number): ListRequest {
  const all = columnsOf(list);
  if (options.nodes === "all" && !isMeasured(list)) {
    throw new UsageError(`'${list.table}' is the same on every node: leave -nodes out`);
  }
  const chosen = options.columns?.split(",").map((name) => columnNamed(name.trim(), all));
  const narrowColumns = list.columns.map((name) => columnNamed(name, all));
  const isTable = options.o === "table" && names.length !== 1;
  const condition = conditionOf(options.where, all, now);
  return {
    list,
    names,
    columns: chosen ?? (isTable ? withNode(narrowColumns, all, options) : all),
    isWanted: (row) => (names.length === 0 || names.some((name) => isNamed(list, row, name))) && condition(row),
    sort: options.sort === undefined ? undefined : orderOf(options.sort, all),
  };
}

/** Adds the column `node` if the rows come from several nodes. */
function withNode(
  narrowColumns: readonly ColumnSpec[],
  all: readonly ColumnSpec[],
  { nodes }: Options,
): readonly ColumnSpec[] {
  const hasNodeColumn = narrowColumns.some(({ name }) => name === "node");
  const node = all.find(({ name }) => name === "node");
  return nodes === "all" && !hasNodeColumn && node !== undefined ? [...narrowColumns, node] : narrowColumns;
}

/**
 * Returns whether the row has this name. A key can also be named by its public id, and a suspension by the name of what
 * is suspended.
 */
function isNamed(list: ListSpec, row: Row, name: string): boolean {
  return nameOf(list, row) === name || row["name"] === name || row["id"] === name;
}

function orderOf(text: string, all: readonly ColumnSpec[]): (a: Row, b: Row) => number {
  const isDescending = text.startsWith("-");
  const { name } = columnNamed(isDescending ? text.slice(1) : text, all);
  const sign = isDescending ? -1 : 1;
  return (a, b) => {
    const [one, other] = [a[name] ?? null, b[name] ?? null];
    if (one === null || other === null) return one === other ? 0 : one === null ? 1 : -1;
    if (typeof one === "number" && typeof other === "number") return sign * (one - other);
    return sign * String(one).localeCompare(String(other));
  };
}

interface Listing {
  readonly items: readonly Row[];
  readonly index: number;
  readonly unanswered?: readonly string[];
  readonly cut?: readonly string[];
}

async function readList(
  client: AdminClient,
  { list }: ListRequest,
  { nodes }: Options,
  signal: AbortSignal,
  since?: number,
): Promise<Listing> {
  const query = {
    ...(nodes === "all" && { nodes: "all" as const }),
    ...(since !== undefined && { index: since, wait: WATCH_WAIT }),
  };
  const call = client.call as unknown as (
    id: OperationId,
    input: { readonly query: object },
    options: { readonly signal: AbortSignal; readonly timeLimitMs?: number },
  ) => Promise<Listing>;
  return await call(
    `list_${list.table}`,
    { query },
    { signal, ...(since !== undefined && { timeLimitMs: WATCH_LIMIT_MS }) },
  );
}

function reportMissing({ unanswered = [], cut = [] }: Listing, io: Io): void {
  const note = (ids: readonly string[], problem: string): void => {
    if (ids.length > 0) io.stderr.write(`gateway get: ${problem} ${ids.map(escapeControls).join(", ")}\n`);
  };
  note(unanswered, "these nodes did not answer within a second, and their rows are missing:");
  note(cut, "these nodes have more rows than fit into an answer, and some are missing:");
}

async function print(request: ListRequest, rows: readonly Row[], { o, where }: Options, io: Io): Promise<void> {
  const { list, names, columns, sort } = request;
  const sorted = sort === undefined ? rows : [...rows].sort(sort);
  const [only] = sorted;
  if (o === "table" && names.length === 1 && sorted.length === 1 && only !== undefined) {
    await writeAll(io.stdout, joinLines(recordLines(only, columns)), io.signal);
    return;
  }
  if (sorted.length === 0 && (o === "table" || o === "wide")) {
    io.stderr.write(`No rows in ${list.table}${where.length > 0 || names.length > 0 ? " that match" : ""}.
`);
    return;
  }
  await writeAll(io.stdout, joinLines(await linesOf(o, { list, columns, rows: sorted }, io)), io.signal);
}

/** Prints the rows that are new or changed, until the verb is interrupted. JSON is one object a line. */
async function follow(
  { client }: GatewayConnection,
  request: ListRequest,
  first: Listing,
  options: Options,
  io: Io,
): Promise<ExitStatus> {
  let before = new Map(first.items.map((row) => [identityOf(request, row), textOf(request, row)]));
  let { index } = first;
  for (;;) {
    const next = await readList(client, request, options, io.signal, index);
    index = next.index;
    const after = new Map(next.items.map((row) => [identityOf(request, row), textOf(request, row)]));
    const changed = next.items.filter(
      (row) => request.isWanted(row) && before.get(identityOf(request, row)) !== textOf(request, row),
    );
    for (const identity of before.keys()) {
      if (!after.has(identity)) io.stderr.write(`gone: ${escapeControls(identity.split("\n")[0] ?? "")}\n`);
    }
    before = after;
    if (changed.length > 0) await printChanged(request, changed, options.o, io);
  }
}

async function printChanged({ list, columns }: ListRequest, rows: readonly Row[], o: Format, io: Io): Promise<void> {
  const lines =
    o === "json"
      ? rows.map((row) => `${JSON.stringify(pick(row, columns))}\n`)
      : await linesOf(o, { list, columns, rows }, io, false);
  await writeAll(io.stdout, joinLines(lines), io.signal);
}

const identityOf = ({ list }: ListRequest, row: Row): string =>
  [nameOf(list, row), row["node"], row["bucket"], row["time"], row["hour"]].map(String).join("\n");
const textOf = ({ columns }: ListRequest, row: Row): string => JSON.stringify(pick(row, columns));

async function printLists(io: Io): Promise<ExitStatus> {
  const columns = ["list", "also", "row is named by"].map((name) => ({ name, isNumeric: false }));
  const lines: string[] = [];
  for (const [about, title] of Object.entries(LIST_GROUPS)) {
    const rows = ALL_LISTS.filter((list) => list.about === about).map(({ table, aliases, name }) => [
      table,
      aliases.join(", "),
      name.join(":"),
    ]);
    lines.push(`${title}\n`, ...[...tableLines(columns, rows)].map((line) => `  ${line}`), "\n");
  }
  lines.push("gateway get LIST [NAME...]; columns of a list: gateway query -tables\n");
  await writeAll(io.stdout, joinLines(lines), io.signal);
  return 0;
}
