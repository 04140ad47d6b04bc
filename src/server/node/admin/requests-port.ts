/** Rows of `requests`: the last requests of this node, formatted when they are read. */
import { KEPT_REQUESTS, type RequestRecord, type RowsOf } from "../../admin/index.ts";
import { displayText, type RequestSummary, type SummarySink } from "../../dataplane/index.ts";
import { createNewestRows } from "../../usage/index.ts";
import { createThrottledListeners } from "../change-notifier.ts";

export function createRequests(): SummarySink & { readonly rows: RowsOf<"requests"> } {
  const newest = createNewestRows<RequestSummary>(KEPT_REQUESTS, ({ at, totalMs }) => at + totalMs);
  const onChange = createThrottledListeners({ changesInMs: () => undefined, awaitChange: newest.awaitChange });
  const list = (): Iterable<Omit<RequestRecord, "node">> => {
    const rows = newest.read();
    return {
      *[Symbol.iterator]() {
        for (const row of rows) yield requestRecord(row);
      },
    };
  };
  return { finished: newest.add, rows: { list, onChange } };
}

/** Formats a row. Names come from callers, so they are truncated and stripped of control characters. */
const requestRecord = (row: RequestSummary): Omit<RequestRecord, "node"> => ({
  time: new Date(row.at).toISOString(),
  id: row.id,
  caller: shownOrNull(row.caller),
  profile: row.profile ?? null,
  hop: row.hop ?? null,
  route: row.route === "none" ? null : displayText(row.route),
  model: shownOrNull(row.model),
  provider: row.provider === "none" ? null : servedBy(row),
  status: row.status,
  code: row.code === "" ? null : row.code,
  attempts: row.attempts,
  ttfb_ms: row.firstByteMs === undefined ? null : Math.round(row.firstByteMs),
  total_ms: Math.round(row.totalMs),
  input_tokens: row.inputTokens ?? null,
  output_tokens: row.outputTokens ?? null,
  decided_by: row.decidedBy === undefined ? null : `${row.decidedBy.kind} ${row.decidedBy.name}`,
});

/**
 * Returns the name to show. Summaries name servers and agents with a prefix, such as `mcp:`, to keep them apart from providers.
 */
const servedBy = ({ hop, provider }: RequestSummary): string =>
  (hop === "mcp" || hop === "a2a") && provider.startsWith(`${hop}:`) ? provider.slice(hop.length + 1) : provider;

const shownOrNull = (name: string | undefined): string | null => (name === undefined ? null : displayText(name));
