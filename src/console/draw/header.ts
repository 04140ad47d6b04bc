/**
 * Two lines above the view: the identity of gateway and operator, and the health of the gateway. Forbidden and unknown parts
 * are left out; problems have a word and a tone. Source: operator console reference, B1 and B8.
 */

import type { FileStatus, SuspensionRecord } from "../../admin-api/index.ts";
import { escapeControls } from "../../base/index.ts";
import { cutMiddle } from "../format/cut-text.ts";
import { cellsOfLine, cutLine, fitLine, spread, withTone } from "../format/fit-line.ts";
import { plural } from "../format/numbers.ts";
import { timeOfDay } from "../format/times.ts";
import { withUnknownWords } from "../format/word-table.ts";
import type { Context } from "../model/context.ts";
import type { Data } from "../model/data.ts";
import { rowsOf } from "../model/data.ts";
import { mergedRows } from "../model/nodes.ts";
import type { State } from "../model/state.ts";
import type { Line, Span, Tone } from "../model/text.ts";
import type { View } from "../model/view.ts";
import { isRoomy } from "../store/layout.ts";
import { contextOf, freshnessOf } from "../store/selectors.ts";

export function drawHeader(state: State, views: readonly View[]): readonly [identity: Line, health: Line] {
  const { columns } = state.size;
  const context = contextOf(state);
  const { word, tone } = freshnessOf(state, views);
  // Stale data is inverted, so that it is visible from a distance: the clock beside it keeps running.
  const fresh: Span = { text: word, tone, ...((tone === "fail" || tone === "warn") && { isInverse: true }) };
  const clock: Line = [{ text: `${timeOfDay(context.now)} `, tone: "dim" }, fresh, { text: " " }];
  // One blank at the left edge, and one before the clock.
  const room = columns - cellsOfLine(clock) - 2;
  const identity = isRoomy(state.size)
    ? roomyIdentity(state, context, room)
    : [
        ...(state.context === undefined
          ? []
          : [{ text: `${escapeControls(state.context)}  `, tone: "strong" as const }]),
        ...shortIdentity(context),
      ];
  const health = drawHealth(state);
  return [
    spread([{ text: " " }, ...identity], clock, columns),
    fitLine([{ text: " " }, ...(isAnswering(state) ? health : withTone(health, "dim"))], columns),
  ];
}

/** Returns whether the lists may be current. */
const isAnswering = ({ link }: State): boolean => link.state.kind === "online" || link.state.kind === "connecting";

/**
 * Draws the identity for a large screen. If there is not enough room, the endpoint's path is shortened in the middle first; role,
 * term and index never are.
 */
function roomyIdentity({ link, context }: State, { data }: Context, room: number): Line {
  const status = data.get({ id: "get_status" })?.value;
  const name: Line = [
    { text: context === undefined ? "gateway" : `gateway ${escapeControls(context)}`, tone: "strong" },
  ];
  const caller = callerOf(data, true);
  const node: Line =
    status === undefined
      ? []
      : [
          { text: `  node ${status.node} ` },
          roleOf(status),
          { text: ` term ${status.term} index ${status.applied_index}` },
        ];
  const forEndpoint = room - cellsOfLine([...name, ...caller, ...node]) - ENDPOINT_GAP.length;
  const endpoint: Line =
    forEndpoint < MIN_ENDPOINT_CELLS
      ? []
      : [{ text: ENDPOINT_GAP + cutMiddle(escapeControls(link.endpoint.name), forEndpoint) }];
  const forCaller = room - cellsOfLine([...name, ...endpoint, ...node]);
  return [...name, ...endpoint, ...cutLine(caller, forCaller), ...node];
}

const ENDPOINT_GAP = "  ";
/** Minimum width of a path; a shorter one is useless. */
const MIN_ENDPOINT_CELLS = 8;

function shortIdentity({ data }: Context): Line {
  const status = data.get({ id: "get_status" })?.value;
  const members = rowsOf(data, "cluster_members");
  return [
    ...(status === undefined
      ? [{ text: "gateway", tone: "strong" as const }]
      : [{ text: `${status.node} ` }, roleOf(status)]),
    ...(members.length === 0 ? [] : [{ text: ` ${reachable(members)}/${members.length}` }]),
    ...callerOf(data, false),
  ];
}

function roleOf({ role, ready }: { readonly role: string; readonly ready: boolean }): Span {
  if (!ready) return { text: `${role === "leader" ? "LEADER" : role} NOT READY`, tone: "fail" };
  return role === "leader" ? { text: "LEADER", tone: "strong" } : { text: role };
}

function callerOf(data: Data, hasRoles: boolean): Line {
  const caller = data.get({ id: "get_whoami" })?.value;
  if (caller === undefined) return [];
  const roles = caller.roles.length > 0 ? caller.roles.join(", ") : caller.issuer;
  return [{ text: `  ${caller.subject}`, tone: "strong" }, { text: hasRoles ? ` (${roles})` : "" }];
}

interface Part {
  readonly spans: readonly Span[];
}

/** Draws one line: ` members 3/3 │ providers 5 ok 1 FAIL │ …`; small screens begin with the problems. */
export function drawHealth(state: State): Line {
  const { data } = contextOf(state);
  const parts = [
    membersPart(data, isRoomy(state.size)),
    providersPart(data),
    budgetsPart(data),
    suspensionsPart(data),
    filesPart(data),
  ].filter((part) => part !== undefined);
  // A blank at both ends is reserved.
  const room = state.size.columns - 2;
  if (isRoomy(state.size)) return joinParts(withAllParts(parts, room));
  const rank = ({ spans }: Part): number => Math.max(...spans.map(({ tone }) => RANK[tone ?? "plain"]));
  return joinParts(
    withAllParts(
      [...parts].sort((a, b) => rank(b) - rank(a)),
      room,
    ),
  );
}

/** Returns the first parts that fit completely. */
function withAllParts(parts: readonly Part[], room: number): readonly Part[] {
  const most = parts.findIndex((_, at) => cellsOfLine(joinParts(parts.slice(0, at + 1))) > room);
  return most < 0 ? parts : parts.slice(0, Math.max(1, most));
}

const RANK: Readonly<Record<Tone, number>> = { fail: 3, warn: 2, off: 1, plain: 0, strong: 0, dim: 0, changed: 0 };

const joinParts = (parts: readonly Part[]): Line =>
  parts.flatMap(({ spans: content }, at) => (at === 0 ? content : [{ text: " │ ", tone: "dim" as const }, ...content]));

/** Counts reachable members. One that lost acknowledged entries does not take part. */
const reachable = (members: readonly { readonly state: string }[]): number =>
  members.filter(({ state }) => state !== "silent" && state !== "forgot").length;

function membersPart(data: Data, hasRoom: boolean): Part | undefined {
  const members = rowsOf(data, "cluster_members");
  if (isHidden(data, "list_cluster_members") || members.length === 0) return undefined;
  const there = reachable(members);
  const voters = members.filter(({ voter }) => voter);
  const hasQuorum = reachable(voters) * 2 > voters.length;
  const text = `members ${there}/${members.length}${hasRoom ? " reachable" : ""}`;
  if (there === members.length) return { spans: [{ text }] };
  return {
    spans: [
      { text: `${text} `, tone: "warn" },
      hasQuorum ? { text: `${members.length - there} SILENT`, tone: "warn" } : { text: "NO QUORUM", tone: "fail" },
    ],
  };
}

function providersPart(data: Data): Part | undefined {
  if (isHidden(data, "list_backends")) return undefined;
  // Suspensions take precedence, since they are newer than the measured states; the table of providers does the same.
  const off = new Set(
    rowsOf(data, "suspensions")
      .filter(isProviderOff)
      .map(({ name }) => name),
  );
  const backends = mergedRows(data, "backends").map(({ record: { name, state } }) =>
    off.has(name) ? "suspended" : state,
  );
  const of = (wanted: string) => backends.filter((state) => state === wanted).length;
  const [failing, suspended] = [of("failing"), of("suspended")];
  return {
    spans: [
      { text: `providers ${backends.length - failing - suspended} ok` },
      ...countSpans(failing, "FAIL", "fail"),
      ...countSpans(suspended, "SUSP", "off"),
    ],
  };
}

function budgetsPart(data: Data): Part | undefined {
  if (isHidden(data, "list_budgets")) return undefined;
  const budgets = rowsOf(data, "budgets");
  const of = (wanted: string) => budgets.filter(({ status }) => status === wanted).length;
  const [low, exhausted, refusing] = [of("low"), of("exhausted"), of("refusing")];
  if (low + exhausted + refusing === 0) return { spans: [{ text: "budgets ok" }] };
  return {
    spans: [
      { text: "budgets" },
      ...countSpans(low, "hot", "warn"),
      ...countSpans(exhausted, "EXHAUSTED", "fail"),
      ...countSpans(refusing, "REFUSE", "fail"),
    ],
  };
}

const isProviderOff = ({ kind, status }: SuspensionRecord): boolean => kind === "provider" && status === "active";

/** Counts active suspensions by kind, except those of providers, which are counted with the providers. */
function suspensionsPart(data: Data): Part | undefined {
  if (isHidden(data, "list_suspensions")) return undefined;
  const others = rowsOf(data, "suspensions").filter(({ kind, status }) => status === "active" && kind !== "provider");
  if (others.length === 0) return undefined;
  const counts = new Map<string, number>();
  for (const { kind } of others) counts.set(kind, (counts.get(kind) ?? 0) + 1);
  const kinds = [...counts].map(([kind, many]) => plural(many, SUBJECTS[kind] ?? kind));
  return { spans: [{ text: `${kinds.join(", ")} SUSP`, tone: "off" }] };
}

/** Nouns of kinds that are abbreviations. */
const SUBJECTS: Readonly<Record<string, string>> = { mcp: "MCP server", a2a: "agent" };

const FILES: Readonly<Record<FileStatus["state"], readonly [text: string, tone: Tone]>> = withUnknownWords(
  {
    in_sync: ["IN SYNC", "plain"],
    diverged: ["DIVERGED", "warn"],
    behind: ["BEHIND", "warn"],
    no_version: ["NO VERSION", "warn"],
    no_file: ["none", "plain"],
    refused: ["REFUSED", "fail"],
  },
  (word) => [word, "warn"],
);

function filesPart(data: Data): Part | undefined {
  const configuration = data.get({ id: "get_config" })?.value;
  if (configuration === undefined || isHidden(data, "get_config")) return undefined;
  // A missing file is normal if the API is the writer, so it is not mentioned.
  if (configuration.file_status.state === "no_file") return undefined;
  const [text, tone] = FILES[configuration.file_status.state];
  return { spans: [{ text: "files " }, { text, tone }] };
}

const countSpans = (count: number, word: string, tone: Tone): readonly Span[] =>
  count === 0 ? [] : [{ text: ` ${count} ${word}`, tone }];

function isHidden(
  data: Data,
  id: "list_cluster_members" | "list_backends" | "list_budgets" | "list_suspensions" | "get_config",
): boolean {
  const reading = data.get({ id });
  return reading?.value === undefined || reading.failure?.status === 403;
}
