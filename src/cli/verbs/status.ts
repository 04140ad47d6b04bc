/**
 * `gateway status`: prints the state of the called node, the members of its cluster and the alerts of the console's
 * overview, worst first. The status is 1 if something fails: a node that cannot serve, or an unacknowledged alert of
 * severity `fail`.
 */

import { type ClusterMemberRecord, type NodeStatus, notReadyReasons } from "../../admin-api/index.ts";
import { escapeControls, escapeControlsOfLines, pause } from "../../base/index.ts";
import type { AttentionItem, Context, Data, Need, Readable, ReadableId, Reading } from "../../console/index.ts";
import { joinLines, writeAll } from "../copy-streams.ts";
import type { statusFlags } from "../operate/operate-flags.ts";
import { type ConsoleModule, contextOf, loadConsole } from "../operate/run-change.ts";
import { type GatewayConnection, withGateway } from "../operate/with-gateway.ts";
import type { FlagsOf } from "../parse-flags.ts";
import type { ExitStatus, Io } from "../process-io.ts";
import { tableLines } from "../table-text.ts";

type Options = FlagsOf<typeof statusFlags>;

const WATCH_MS = 2_000;

export function run(options: Options, _: readonly string[], io: Io): Promise<ExitStatus> {
  return withGateway("status", options, io, async (called) => {
    if (options.watch) io.watchReader();
    const console = await loadConsole();
    let before = "";
    for (;;) {
      const overview = await overviewOf(called, io, console);
      const text = options.o === "json" ? jsonOf(overview, io, console) : textOf(overview, io, console);
      // Changes of times and counts alone are not printed again.
      const fingerprint = JSON.stringify([
        overview.isFailing,
        overview.shown.map(({ id, severity }) => [id, severity]),
      ]);
      if (fingerprint !== before) await writeAll(io.stdout, joinLines(text), io.signal);
      before = fingerprint;
      if (!options.watch) return overview.isFailing ? 1 : 0;
      await pause(WATCH_MS, io.signal);
      io.signal.throwIfAborted();
    }
  });
}

interface Overview {
  readonly status: NodeStatus;
  readonly context: Context;
  readonly members: readonly ClusterMemberRecord[];
  readonly shown: readonly AttentionItem[];
  readonly acknowledged: readonly AttentionItem[];
  /** Lists that could not be read, each with the reason. */
  readonly unread: readonly (readonly [list: string, why: string])[];
  readonly isFailing: boolean;
}

async function overviewOf(called: GatewayConnection, io: Io, console: ConsoleModule): Promise<Overview> {
  const needs: readonly Need[] = [...console.attentionNeeds(), { id: "list_acknowledgements" }];
  const limits = { signal: io.signal };
  const status = await called.client.call("get_status", {}, limits);
  const { items } = await called.client.call("list_cluster_members", { query: { nodes: "all" } }, limits);
  const members = membersAsLeaderSees(items, status);
  const context = withMembers(await contextOf(called, needs, io, console), members);
  const { shown, folded } = console.withoutAcknowledged(console.attentionOf(context), context);
  const unread = needs.flatMap((need) => {
    const failure = context.data.get(need)?.failure;
    return failure === undefined ? [] : [[need.id.replace(/^(list|get)_/, ""), failure.message] as const];
  });
  return {
    status,
    context,
    members,
    shown,
    acknowledged: folded,
    unread: [...new Map(unread)],
    isFailing: !status.ready || shown.some(({ severity }) => severity === "fail"),
  };
}

/**
 * Returns one row per member. The leader's row is preferred, since only the leader knows how far the others are behind;
 * otherwise that of the called node.
 */
function membersAsLeaderSees(
  rows: readonly ClusterMemberRecord[],
  { node, leader }: NodeStatus,
): readonly ClusterMemberRecord[] {
  const byId = new Map<string, ClusterMemberRecord>();
  for (const row of rows) {
    const known = byId.get(row.id);
    if (known === undefined || row.node === leader || (row.node === node && known.node !== leader))
      byId.set(row.id, row);
  }
  return [...byId.values()].sort((a, b) => (a.id < b.id ? -1 : 1));
}

/**
 * Replaces the members in the context, so that the alerts agree with the table: a leader knows within a second that a member is
 * silent, a follower only once its connection to the member ends.
 */
function withMembers(context: Context, members: readonly ClusterMemberRecord[]): Context {
  const data: Data = {
    get<Id extends ReadableId>(need: Need<Id>): Reading<Readable[Id]> | undefined {
      const reading = context.data.get(need);
      return reading === undefined || need.id !== "list_cluster_members"
        ? reading
        : { ...reading, value: members as Readable[Id] };
    },
  };
  return { ...context, data };
}

function* textOf(overview: Overview, io: Io, console: ConsoleModule): Generator<string> {
  const { status, members, shown, acknowledged, unread, context } = overview;
  const columns = ["node", "role", "state", "version", "applied", "lag", "clock_ms"].map((name) => ({
    name,
    isNumeric: name === "applied" || name === "lag" || name === "clock_ms",
  }));
  const rows = members.map((row) => [
    row.id,
    row.role,
    row.state,
    row.version,
    row.applied,
    row.lag,
    row.clock_offset_ms,
  ]);
  if (rows.length > 0) yield* tableLines(columns, rows, io.columns());
  yield `\n${escapeControls(status.node)} answered: ${readiness(status)}; ${leaderText(status)}\n`;
  yield `\n`;
  if (shown.length === 0) yield "No alerts.\n";
  else {
    const alerts = shown.map((item) => [
      `${console.SEVERITIES[item.severity].mark} ${item.what}`,
      item.id,
      console.alertText(item, context.now),
    ]);
    const heads = ["alert", "name", "details"].map((name) => ({ name, isNumeric: false }));
    yield* tableLines(heads, alerts, io.columns());
  }
  yield* adviceLines(shown, console);
  if (acknowledged.length > 0) yield `${acknowledged.length} acknowledged; gateway get acknowledgements lists them.\n`;
  for (const [list, reason] of unread) yield `Not read: ${list} (${escapeControls(reason)})\n`;
}

/** Yields the advice of each kind of alert once, with the command for the first alert of that kind. */
function* adviceLines(shown: readonly AttentionItem[], { adviceOf }: ConsoleModule): Generator<string> {
  const seen = new Set<string>();
  for (const item of shown) {
    const advice = adviceOf(item);
    if (advice === undefined || seen.has(item.what)) continue;
    yield seen.size === 0 ? "\nWhat to do:\n" : "";
    seen.add(item.what);
    yield `  ${item.what}: ${advice.todo}\n`;
    if (advice.command !== "") yield `    ${escapeControls(advice.command)}\n`;
  }
}

const readiness = (status: NodeStatus): string =>
  status.ready
    ? "it serves"
    : `it cannot serve: ${escapeControls(notReadyReasons(status).join("; ")) || "it does not say why"}`;

const leaderText = ({ leader }: NodeStatus): string =>
  leader === null ? "no leader is known, so changes are refused" : `leader ${escapeControls(leader)}`;

function* jsonOf(
  { status, members, shown, acknowledged, unread, isFailing, context }: Overview,
  io: Io,
  { adviceOf }: ConsoleModule,
): Generator<string> {
  const adviceMembers = (item: AttentionItem) => {
    const advice = adviceOf(item);
    return advice === undefined ? {} : { todo: advice.todo, command: advice.command };
  };
  const alert = (item: AttentionItem) => ({ ...alertMembers(item), ...adviceMembers(item) });
  const alertMembers = ({ id, severity, what, kind, name, text, ends, until }: AttentionItem) => ({
    id,
    severity,
    what,
    kind,
    name,
    says: text,
    ...(until !== undefined && { until: new Date(until.at).toISOString() }),
    ...(ends !== undefined && { ends: new Date(ends.at).toISOString() }),
  });
  const value = {
    time: new Date(context.now).toISOString(),
    failing: isFailing,
    status,
    members,
    alerts: shown.map(alert),
    acknowledged: acknowledged.map(alert),
    unread: Object.fromEntries(unread),
  };
  yield `${escapeControlsOfLines(JSON.stringify(value, null, io.isTerminal("stdout") ? 2 : undefined))}\n`;
}
