/** Reads a list for a caller: waits for a change, selects rows, and gathers those of other nodes. */

import { LISTED_USAGE, type MeasuredTable } from "../../admin-api/index.ts";
import { parseDuration } from "../../base/index.ts";
import type { AdminPlane } from "./admin-plane.ts";
import { gather } from "./gather-nodes.ts";
import { filterByColumns, takeFirst } from "./lists.ts";
import { refusal } from "./refusal.ts";

const BARRIER_LIMIT_MS = 10_000;
const DEFAULT_WAIT_MS = 30_000;
/** Time for which a token is accepted after its expiry, in milliseconds. Design decisions, section 1. */
const TOKEN_LEEWAY_MS = 60_000;

/** Default row limits of lists that may be very long. */
const LIMITS: ReadonlyMap<string, number> = new Map([["usage", LISTED_USAGE]]);

/** Validated query of a list. All other members are columns, with the value that rows must have. */
interface ListQuery {
  readonly limit?: number;
  readonly after?: string;
  readonly index?: number;
  readonly wait?: string;
  readonly consistent?: boolean;
  readonly nodes?: "all";
}

interface Reader {
  /** Expiry of the caller's token, which ends a wait, in milliseconds since 1970; `undefined` for a caller without a token. */
  readonly expiresAt: number | undefined;
  readonly signal: AbortSignal;
}

interface ListAnswer {
  readonly index: number;
  readonly rows: Iterable<unknown>;
  /** Further members of the answer. */
  readonly others?: object;
}

export async function readList(
  { ports, lists }: Pick<AdminPlane, "ports" | "lists">,
  table: string,
  query: object,
  { expiresAt = Number.POSITIVE_INFINITY, signal }: Reader,
): Promise<ListAnswer> {
  const { index, wait, consistent, nodes, limit = LIMITS.get(table), after, ...columns } = query as ListQuery;
  if (wait !== undefined && index === undefined) throw missingParameter("wait", "index");
  if (after !== undefined && limit === undefined) throw missingParameter("after", "limit");
  if (consistent === true) await ports.cluster.readBarrier({ timeoutMs: BARRIER_LIMIT_MS, signal });
  const list = lists.get(table);
  if (list === undefined) throw new Error(`no list for the table ${table}`);
  const asked = wait === undefined ? DEFAULT_WAIT_MS : (parseDuration(wait) ?? 0);
  const waitMs = Math.min(asked, Math.max(0, expiresAt + TOKEN_LEEWAY_MS - ports.clock.now()));
  const page = limit === undefined ? undefined : { after, limit };
  const read = await list.read({ index, waitMs, page, signal }, () => ports.clock.now());
  const wanted = filterByColumns(read.rows, columns);
  const rows = limit === undefined ? wanted : takeFirst(wanted, limit);
  if (nodes === undefined) return { index: read.index, rows };
  const question = { kind: "list", table: table as MeasuredTable } as const;
  const { items, ...others } = await gather(ports.cluster, question, rows, signal);
  return { index: read.index, rows: filterByColumns(items, columns), others };
}

/** Returns the refusal of a query parameter that requires another one. */
const missingParameter = (parameter: string, missing: string): Error =>
  refusal("invalid", `The query parameter \`${parameter}\` needs \`${missing}\`.`, {
    in: "query",
    faults: [{ field: missing, message: "is missing" }],
  });
