/** What stands above the attention list where there is room: the members, the traffic and the last admin changes. */

import type { BackendRecord } from "../../admin-api/index.ts";
import { escapeControls } from "../../base/index.ts";
import { isReachable, quorumOf, quorumWords } from "../actions/cluster-quorum.ts";
import { sparkline } from "../format/charts.ts";
import { cutMiddle, padTo } from "../format/cut.ts";
import { fitLine } from "../format/fit.ts";
import { LABEL_CELLS, labelled, shown } from "../format/lines.ts";
import { count, milliseconds, percent, plural } from "../format/numbers.ts";
import { clock } from "../format/times.ts";
import type { Context } from "../model/context.ts";
import { type Metrics, rowsOf } from "../model/data.ts";
import { whoseNumbers } from "../model/nodes.ts";
import { BLANK, type Line, line, span } from "../model/text.ts";
import { changesOf, RESULTS, resultWords } from "./changes-record.ts";
import { contactWords } from "./cluster-members.ts";
import { type TrafficHistory, trafficHistory } from "./traffic-history.ts";

interface Size {
  readonly columns: number;
  readonly rows: number;
}

/** Changes, and the line that heads them. */
const MOST_CHANGES = 3;
/** Of the members: heading, column heads and the three members of the usual cluster. */
const LEAST_MEMBERS = 5;

export function overviewAbove(context: Context, { columns, rows: lines }: Size): readonly Line[] {
  // A blank parts it from the table.
  const rows = Math.max(0, lines - 1);
  const fitting = recentChanges(context).slice(0, Math.max(0, rows - LEAST_MEMBERS));
  // Not their heading alone.
  const changes = fitting.length < 2 ? [] : fitting;
  const room = Math.max(0, rows - changes.length);
  const left = Math.min(LEFT_CELLS, Math.max(columns - RIGHT_CELLS, Math.floor(columns / 2)));
  const members = clusterLines(context, room);
  const traffic = trafficLines(context, columns - left).slice(0, room);
  const beside = Array.from({ length: Math.max(members.length, traffic.length) }, (_, at) => [
    ...fitLine(members[at] ?? BLANK, left - 1),
    { text: " " },
    ...(traffic[at] ?? BLANK),
  ]);
  return [...beside, ...changes].slice(0, rows);
}

/** Of the members, with blanks after them. */
const LEFT_CELLS = 58;
/** Of the traffic, where there is no room for both. */
const RIGHT_CELLS = 38;

const MEMBER_CELLS = { node: 15, role: 9, state: 11, last: 6, applied: 9, lag: 5 } as const;

function clusterLines({ data }: Context, rows: number): readonly Line[] {
  const members = rowsOf(data, "cluster_members");
  if (members.length === 0) return [line("CLUSTER  members not known", "dim")];
  const self = data.get({ id: "get_status" })?.value?.node;
  const quorum = quorumOf(members);
  const room = Math.max(1, rows - 2);
  // Those that are silent must not be the ones that have no room.
  const ordered = [...members].sort((a, b) => Number(isReachable(a)) - Number(isReachable(b)));
  const told = members.length > room ? ordered.slice(0, room - 1) : members;
  const { node, role, state, last, applied, lag } = MEMBER_CELLS;
  const head = [
    ["NODE", node],
    ["ROLE", role],
    ["STATE", state],
  ] as const;
  return [
    [
      span("CLUSTER", "strong"),
      span(
        `  ${quorumWords(quorum)}${quorum.isMet ? "" : `, ${quorum.reachable} reachable: NO QUORUM`}`,
        quorum.isMet ? "plain" : "fail",
      ),
    ],
    line(
      [
        ...head.map(([text, cells]) => padTo(text, cells)),
        padTo("LAST", last, "right"),
        padTo("APPLIED", applied, "right"),
        padTo("LAG", lag, "right"),
      ].join(""),
      "dim",
    ),
    ...told.map((member) => [
      { text: padTo(nameOf(member.id, member.id === self, node - 1), node) },
      span(padTo(member.role, role), member.role === "leader" ? "strong" : "plain"),
      !isReachable(member) ? span(padTo(`! ${member.state}`, state), "fail") : span(padTo(member.state, state)),
      {
        text: [
          padTo(contactWords(member.last_contact_ms), last, "right"),
          padTo(member.applied === null ? "-" : String(member.applied), applied, "right"),
          padTo(member.lag === null ? "-" : String(member.lag), lag, "right"),
        ].join(""),
      },
    ]),
    ...(told.length < members.length ? [line(`and ${members.length - told.length} more in :cluster`, "dim")] : []),
  ];
}

/** Cut in its middle, as names of one cluster often differ at the end alone; `*`: this node. */
const nameOf = (id: string, isSelf: boolean, cells: number): string =>
  isSelf ? `${cutMiddle(shown(id).text, cells - 2)} *` : cutMiddle(shown(id).text, cells);

const VALUE_CELLS = 9;

/** Of the failure where no address was given. */
const NOT_GIVEN = "not_found";

function trafficLines(context: Context, cells: number): readonly Line[] {
  const reading = context.data.get({ id: "metrics" });
  const failure = reading?.failure;
  if (failure !== undefined && failure.code !== NOT_GIVEN) {
    const [measured = BLANK, ...more] = measuredLines(context, cells);
    return [[...measured.slice(0, 1), shown("  ! the metrics page given is not read", "warn")], ...more];
  }
  return reading?.value === undefined ? measuredLines(context, cells) : metricLines(reading.value, context, cells);
}

/** In the cells that are left beside a label and its value; the newest points where there is no room for all. */
function chart(points: readonly (number | null)[], { isAscii }: Context, cells: number): string {
  const width = Math.max(0, cells - LABEL_CELLS - VALUE_CELLS - 2);
  return width === 0 ? "" : `  ${sparkline(points.slice(-width), isAscii)}`;
}

function metricLines(
  { requests, errors, inFlight, overhead }: Metrics,
  context: Context,
  cells: number,
): readonly Line[] {
  const history = trafficHistory(context);
  const series = (
    label: string,
    points: readonly (number | null)[],
    of: keyof TrafficHistory,
    unit: string,
    digits: number,
  ): Line => {
    const newest = points.at(-1) ?? null;
    return labelled(
      label,
      span(padTo(newest === null ? "-" : `${count(newest, digits)}${unit}`, VALUE_CELLS)),
      span(chart(history?.[of] ?? points, context, cells)),
    );
  };
  const { p50, p95, p99 } = overhead;
  return [
    [
      span("TRAFFIC", "strong"),
      span(`  of the metrics page given${history === undefined ? "" : "; attempts of 15 minutes"}`, "dim"),
    ],
    series("requests", requests, "attempts", "/s", 1),
    series("errors", errors, "failures", "/s", 1),
    series("in flight", inFlight, "inFlight", "", 0),
    labelled("overhead", span(`p50 ${milliseconds(p50)}  p95 ${milliseconds(p95)}  p99 ${milliseconds(p99)}`)),
  ];
}

/** Without metrics: attempts at providers, which is nearest to requests among what the lists hold. */
function measuredLines(context: Context, cells: number): readonly Line[] {
  const { data } = context;
  const history = trafficHistory(context);
  const charted = (label: string, value: string, of: keyof TrafficHistory): Line =>
    history === undefined
      ? labelled(label, span(value))
      : labelled(label, span(padTo(value, VALUE_CELLS)), span(chart(history[of], context, cells)));
  const backends = data.get({ id: "list_backends" })?.value;
  if (backends === undefined) return [line("TRAFFIC  not known", "dim")];
  const sum = (of: (it: BackendRecord) => number): number => backends.reduce((total, it) => total + of(it), 0);
  const rate = sum(({ rate }) => rate);
  const failed = sum(({ rate, error_ratio: ratio }) => rate * (ratio ?? 0));
  const whose = `  ${escapeControls(whoseNumbers(data, { id: "list_backends" }) ?? "of this node")}, `;
  const failing = percent(rate === 0 ? null : failed / rate);
  return [
    [
      span("TRAFFIC", "strong"),
      span(
        history === undefined
          ? `${whose}last 60 s, attempts at providers`
          : `${whose}attempts at providers, 15 minutes`,
        "dim",
      ),
    ],
    charted("attempts", `${count(rate, 1)}/s`, "attempts"),
    charted("failed", history === undefined ? `${count(failed, 1)}/s  ${failing} %` : `${failing} %`, "failures"),
    charted("in flight", count(sum(({ in_flight: inFlight }) => inFlight)), "inFlight"),
    labelled(
      "retried",
      span(
        `${plural(
          sum(({ retries }) => retries),
          "retry",
          "retries",
        )}, ${plural(
          sum(({ failovers_out: out }) => out),
          "failover",
        )}`,
      ),
    ),
  ];
}

function recentChanges({ data, now }: Context): readonly Line[] {
  const changes = changesOf(data).slice(0, MOST_CHANGES);
  if (changes.length === 0) return [];
  return [
    [span("RECENT ADMIN CHANGES", "strong"), span("  through any node; :changes has more", "dim")],
    ...changes.map((change) => [
      { text: padTo(clock(change.at, now), 19) },
      shown(padTo(shown(change.who).text, 22)),
      shown(`  ${change.action}  ${change.resource}  `),
      shown(resultWords(change), RESULTS[change.result].tone),
    ]),
  ];
}
