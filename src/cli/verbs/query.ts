/**
 * `gateway query SQL`: runs one statement over the lists of the admin API, and prints the result as a table, CSV or
 * JSON. Source: specification document 1, "gateway query"; RFC 4180.
 *
 * It imports only what one call needs, since it runs in loops and shell prompts, and should start as fast as `gateway
 * version`.
 */

import {
  type AdminAnswer,
  AdminError,
  BASE_PATH,
  columnNamedTwice,
  csvLines,
  objectLines,
  openTransport,
  paramOf,
  type QueryResult,
  type QueryTables,
  readJson,
} from "../../admin-api/index.ts";
import { escapeControlsOfLines } from "../../base/index.ts";
import { chooseAddress } from "../choose-address.ts";
import { joinLines, readAll, stdinOf, writeAll } from "../copy-streams.ts";
import { clipArgument, type FlagsOf, UsageError } from "../parse-flags.ts";
import type { ExitStatus, Io } from "../process-io.ts";
import { reportFailure } from "../report-failure.ts";
import { tableLines } from "../table-text.ts";
import type { queryFlags } from "../verb-flags.ts";

type Options = FlagsOf<typeof queryFlags>;

/** Timeout in milliseconds: longer than the gateway's own limit for a statement. */
const TIME_LIMIT_MS = 120_000;
/** Maximum size of a statement from stdin; more than the gateway accepts. */
const MAX_SQL_BYTES = 1 << 20;

export async function run(options: Options, positionals: readonly string[], io: Io): Promise<ExitStatus> {
  const sql = await sqlOf(options, positionals, io);
  const address = chooseAddress(options, io);
  const transport = openTransport(address);
  const call = { signal: io.signal, timeLimitMs: TIME_LIMIT_MS };
  try {
    if (sql === undefined) {
      const request = { method: "GET", path: `${BASE_PATH}/query/tables` };
      return await printTables(await transport.exchange(request, readTables, call), options, io);
    }
    const params = options.p.map(paramOf);
    const request = {
      method: "POST",
      path: `${BASE_PATH}/query${options.nodes === "all" ? "?nodes=all" : ""}`,
      headers: { "content-type": "application/json" },
      body: JSON.stringify(params.length === 0 ? { sql } : { sql, params }),
    };
    return await printRows(await transport.exchange(request, readResult, call), options, io);
  } catch (error) {
    return reportFailure("query", error, address, io);
  } finally {
    transport.close();
  }
}

/** Returns the statement; `undefined` for `-tables`. Throws `UsageError`. */
async function sqlOf(options: Options, [argument]: readonly string[], io: Io): Promise<string | undefined> {
  if (options.tables) {
    if (argument !== undefined) throw new UsageError("-tables takes no SQL");
    if (options.p.length > 0) throw new UsageError("-tables takes no -p");
    return undefined;
  }
  if (argument === undefined) throw new UsageError("missing argument: SQL ('-' reads it from stdin)");
  const sql =
    argument === "-"
      ? (await readAll(stdinOf(io, "SQL"), MAX_SQL_BYTES, "the statement", io.signal)).toString("utf8")
      : argument;
  if (sql.trim() === "") throw new UsageError("the statement is empty");
  return sql;
}

async function printRows(result: QueryResult, { o }: Options, io: Io): Promise<ExitStatus> {
  const { columns, rows, unanswered, cut } = result;
  const reportNodes = (ids: readonly string[] = [], what: string): void => {
    if (ids.length > 0) io.stderr.write(`gateway query: ${what} ${escapeControlsOfLines(ids.join(", "))}\n`);
  };
  reportNodes(unanswered, "without the rows of nodes that did not answer within a second:");
  reportNodes(cut, "without some rows of nodes that have more rows than an answer can hold:");
  if (o !== "table") {
    const lines = o === "csv" ? csvFor(io, result) : o === "json" ? objectsOf(result) : rowLines(result);
    await writeAll(io.stdout, joinLines(lines), io.signal);
    return 0;
  }
  const shown = columns.map(({ name, type }) => ({ name, isNumeric: type === "integer" || type === "real" }));
  await writeAll(io.stdout, joinLines(tableLines(shown, rows, io.columns())), io.signal);
  if (io.isTerminal("stdout")) io.stderr.write(`(${rows.length === 1 ? "1 row" : `${rows.length} rows`})\n`);
  return 0;
}

/** Yields CSV lines. A file gets the values unchanged; for a terminal their control characters are escaped. */
function* csvFor(io: Io, result: Pick<QueryResult, "columns" | "rows">): Generator<string> {
  const isTerminal = io.isTerminal("stdout");
  for (const line of csvLines(result)) yield isTerminal ? escapeControlsOfLines(line.replaceAll("\r\n", "\n")) : line;
}

/** Returns the rows as JSON objects. Throws `UsageError` if two columns have the same name. */
function objectsOf(result: QueryResult): Iterable<string> {
  const repeatedColumn = columnNamedTwice(result);
  if (repeatedColumn === undefined) return objectLines(result);
  throw new UsageError(
    `two columns are named '${clipArgument(repeatedColumn)}', which JSON objects cannot represent: rename one with AS, or give -o rows`,
  );
}

/** Yields the result as JSON in the form of the gateway's answer. */
function* rowLines({ columns, rows, ...others }: QueryResult): Generator<string> {
  yield `{"columns":${jsonText(columns)},"rows":[`;
  let separator = "\n";
  for (const row of rows) {
    yield separator + jsonText(row);
    separator = ",\n";
  }
  yield `],${jsonText(others).slice(1)}\n`;
}

/**
 * Returns JSON with escaped control characters. `JSON.stringify` leaves some of them as they are, and a terminal would
 * obey them.
 */
function jsonText(value: unknown, indent?: number): string {
  return escapeControlsOfLines(JSON.stringify(value, null, indent));
}

const TABLES_COLUMNS = ["table", "column", "type", "description"].map((name) => ({
  name,
  type: "text" as const,
  isNumeric: false,
}));

async function printTables(tables: QueryTables, { o }: Options, io: Io): Promise<ExitStatus> {
  if (o === "json" || o === "rows") {
    await writeAll(io.stdout, [`${jsonText(tables, 2)}\n`], io.signal);
    return 0;
  }
  const rows = tables.items.flatMap(({ name: table, columns }) =>
    columns.map(({ name, type, description }) => [table, name, type, description]),
  );
  const lines =
    o === "csv" ? csvFor(io, { columns: TABLES_COLUMNS, rows }) : tableLines(TABLES_COLUMNS, rows, io.columns());
  await writeAll(io.stdout, joinLines(lines), io.signal);
  return 0;
}

/** Parses the gateway's answer. Throws if it is not a query result. */
async function readResult(answer: AdminAnswer): Promise<QueryResult> {
  const { columns, rows, index, unanswered, cut } = recordOf(await readJson(answer));
  const isWhole = Array.isArray(columns) && Array.isArray(rows) && rows.every(Array.isArray);
  if (!isWhole || typeof index !== "number") throw unreadableAnswer(answer);
  return {
    columns,
    rows,
    index,
    ...(Array.isArray(unanswered) &&
      Array.isArray(cut) && { unanswered: unanswered.map(String), cut: cut.map(String) }),
  } as QueryResult;
}

async function readTables(answer: AdminAnswer): Promise<QueryTables> {
  const value = await readJson(answer);
  const { items } = recordOf(value);
  if (!Array.isArray(items) || !items.every((item) => Array.isArray(recordOf(item)["columns"]))) {
    throw unreadableAnswer(answer);
  }
  return value as QueryTables;
}

function recordOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? (value as Readonly<Record<string, unknown>>) : {};
}

function unreadableAnswer({ status }: AdminAnswer): AdminError {
  return new AdminError(status, "unintelligible", `The answer (${status}) is not an answer to a query.`);
}
