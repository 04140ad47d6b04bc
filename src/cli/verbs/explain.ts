/**
 * `gateway explain REQUEST-ID`: shows who sent a request and for which model, the rule, budget, guardrail and provider
 * that decided it, and its audit records. It asks all nodes; each remembers only its latest requests.
 */

import {
  type AdminClient,
  type AuditRecord,
  KEPT_RECORDS,
  KEPT_REQUESTS,
  type RequestRecord,
} from "../../admin-api/index.ts";
import { escapeControls, escapeControlsOfLines } from "../../base/index.ts";
import { joinLines, writeAll } from "../copy-streams.ts";
import type { explainFlags } from "../operate/operate-flags.ts";
import { withGateway } from "../operate/with-gateway.ts";
import { clipArgument, type FlagsOf } from "../parse-flags.ts";
import type { ExitStatus, Io } from "../process-io.ts";

type Options = FlagsOf<typeof explainFlags>;

export function run(options: Options, [id = ""]: readonly string[], io: Io): Promise<ExitStatus> {
  return withGateway("explain", options, io, async (called) => {
    const { rows, unanswered, records } = await knownOf(called.client, id, io.signal);
    for (const node of unanswered) io.stderr.write(`gateway explain: ${unansweredText(node)}\n`);
    if (rows.length === 0 && records.length === 0) {
      io.stderr.write(`gateway explain: ${unknownText(id)}\n`);
      return 1;
    }
    const lines =
      options.o === "json"
        ? [`${escapeControlsOfLines(JSON.stringify({ requests: rows, audit: records }, null, 2))}\n`]
        : [...rows.flatMap(requestLines), ...auditLines(records)];
    await writeAll(io.stdout, joinLines(lines), io.signal);
    return 0;
  });
}

/** Returns the lines that the verb prints, also if no node knows the request. The console shows the same. */
export async function explanationOf(client: AdminClient, id: string, signal: AbortSignal): Promise<readonly string[]> {
  const { rows, unanswered, records } = await knownOf(client, id, signal);
  const missing = unanswered.map(unansweredText);
  return rows.length === 0 && records.length === 0
    ? [unknownText(id), ...missing]
    : [...rows.flatMap(requestLines), ...auditLines(records), ...missing];
}

async function knownOf(client: AdminClient, id: string, signal: AbortSignal) {
  const [found, records] = await Promise.all([requestsOf(client, id, signal), recordsOf(client, id, signal)]);
  return { ...found, records };
}

const unansweredText = (node: string): string => `${escapeControls(node)} did not answer`;
const unknownText = (id: string): string =>
  `no node knows the request '${clipArgument(id)}': each node remembers its last ${KEPT_REQUESTS} requests; older ones are in the exported audit trail`;

async function requestsOf(client: AdminClient, id: string, signal: AbortSignal) {
  const { items, unanswered = [] } = await client.call("list_requests", { query: { nodes: "all" } }, { signal });
  return { rows: items.filter((row) => row.id === id), unanswered };
}

async function recordsOf(client: AdminClient, id: string, signal: AbortSignal): Promise<readonly AuditRecord[]> {
  const query = { nodes: "all", limit: KEPT_RECORDS } as const;
  const { items } = await client.call("list_audit_records", { query }, { signal });
  return items.filter(({ data }) => typeof data === "object" && data !== null && Reflect.get(data, "request") === id);
}

const LABEL_WIDTH = 12;
const labelled = (label: string, text: string): string => `${label.padEnd(LABEL_WIDTH)}${escapeControls(text)}\n`;

function requestLines(row: RequestRecord): readonly string[] {
  const { time, id, caller, profile, hop, route, model, provider, status, code, attempts, node } = row;
  const profiled = profile === null ? "" : ` (profile ${profile})`;
  return [
    labelled("Request", id),
    labelled("When", `${time}, served by ${node}`),
    labelled("Caller", `${caller ?? "unknown caller"}${profiled}`),
    labelled("Asked for", [hop ?? "nothing that was recognized", route, model].filter((it) => it !== null).join(" ")),
    labelled(
      "Upstream",
      provider === null ? "none" : `${provider}, ${attempts === 1 ? "1 attempt" : `${attempts} attempts`}`,
    ),
    labelled("Answer", `${status}${code === null ? "" : ` ${code}`}`),
    labelled("Decided by", row.decided_by ?? (code === null ? "no rule, budget or guardrail acted" : code)),
    labelled("Times", timesOf(row)),
    labelled("Tokens", `${row.input_tokens ?? "-"} in, ${row.output_tokens ?? "-"} out`),
  ];
}

function timesOf({ ttfb_ms: first, total_ms: total }: RequestRecord): string {
  return first === null
    ? `${total} ms in all; no answer of an upstream began`
    : `${first} ms to the first byte, ${total} ms in all`;
}

function auditLines(records: readonly AuditRecord[]): readonly string[] {
  if (records.length === 0) return [labelled("Audit", "no record: no rule, guardrail or budget decided it")];
  return records.map(({ ts, node, event, seq, data, controls }) =>
    labelled(
      "Audit",
      `${ts} ${node} #${seq} ${event} ${JSON.stringify(data)}${controls.length > 0 ? ` controls ${controls.join(", ")}` : ""}`,
    ),
  );
}
