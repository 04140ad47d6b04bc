/**
 * An admin API without a gateway, in a process of its own: lists as a gateway serves them, with blocking reads, whose
 * rows change at a given rate. Filling a gateway with ten thousand keys for each run would take long, and it would
 * share the measured core.
 *
 * Started with the path of its socket and the number of keys; it answers each `LoadCommand` message over the channel with
 * `Counts`.
 */

import { createServer, type ServerResponse } from "node:http";
import { TABLES } from "../../../src/admin-api/index.ts";
import { createRequests } from "../../../src/server/node/admin/requests-port.ts";
import { bucket, key, profile } from "../../console/views/keys-fixture.ts";
import { backend, member, model, STATUS } from "../../console/views/traffic-fixtures.ts";
import { endWithParent } from "../child/channel.ts";

export interface LoadCommand {
  /** Changes per second; each changes some rows of each list in `tables`. 0 for none. */
  readonly changes: number;
  readonly tables: readonly Changing[];
  /** Requests per second reported to the node's own recorder; none if omitted. */
  readonly requests?: number;
}

export interface Counts {
  /** Number of answers with a change. */
  readonly answers: number;
}

type Changing = "keys" | "budgets" | "backends" | "cluster_members";

const ROWS_CHANGED = 5;
const BUDGETS = 200;
const BACKENDS = 20;

const [socket = "", keys = "0"] = process.argv.slice(2);
const day = (turn: number): string => new Date(Date.parse("2026-11-20T00:00:00Z") + turn * 1_000).toISOString();

/** Row of a table after this many changes. */
const MADE: { readonly [T in Changing]: (at: number, turn: number) => unknown } = {
  keys: (at, turn) =>
    key({
      id: `id${String(at).padStart(6, "0")}`,
      name: nameOfKey(at),
      profile: `profile-${at % 40}`,
      metadata: { team: `team-${at % 100}`, purpose: "chat" },
      last_used_at: turn === 0 ? null : day(turn),
    }),
  budgets: (at, turn) => bucket({ budget: `budget-${at % 40}`, bucket: at < 40 ? "shared" : `id${at}`, used: turn }),
  backends: (at, turn) => backend(`provider-${at}`, { rate: (turn % 500) / 10, in_flight: turn % 30 }),
  cluster_members: (at, turn) => member(`n${at + 1}`, { last_contact_ms: turn % 900, applied: 88_412 + turn }),
};

const nameOfKey = (at: number): string => `key-${String(at).padStart(5, "0")}`;

interface List {
  readonly rows: string[];
  index: number;
  turn: number;
}

function listOf(made: readonly unknown[]): List {
  return { rows: made.map((row) => JSON.stringify(row)), index: 100, turn: 0 };
}

function made(table: Changing, count: number): List {
  return listOf(Array.from({ length: count }, (_, at) => MADE[table](at, 0)));
}

const lists = new Map<string, List>([
  ["keys", made("keys", Number(keys))],
  ["budgets", made("budgets", BUDGETS)],
  ["backends", made("backends", BACKENDS)],
  ["cluster_members", made("cluster_members", 3)],
  [
    "profiles",
    listOf(Array.from({ length: 40 }, (_, at) => profile({ name: `profile-${at}`, budget: `budget-${at}` }))),
  ],
  ["models", listOf(Array.from({ length: 30 }, (_, at) => model(`model-${at}`, `provider-${at % BACKENDS}`)))],
]);
const waiting = new Map<ServerResponse, string>();
let answers = 0;

function send(response: ServerResponse, text: string, status = 200): void {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(text);
}

function sendList(response: ServerResponse, { rows, index }: List): void {
  send(response, `{"items":[${rows.join(",")}],"index":${index}}`);
}

const BUCKET_MS = 10_000;
const NOTHING = {
  ...{ attempts: null, failures: null, ttfb_p50_ms: null, ttfb_p95_ms: null, in_flight: null, input_tokens: null },
  ...{ output_tokens: null, used: null, refused: null, decisions: null, findings: null, held_bytes: null },
  ...{ applied_index: null, commit_ms: null },
};

/** A quarter of an hour of three nodes and twenty providers, as a gateway keeps it. */
function historyRows(): readonly unknown[] {
  const newest = Math.floor(Date.now() / BUCKET_MS) * BUCKET_MS - BUCKET_MS;
  return Array.from({ length: 90 }, (_, before) => {
    const time = new Date(newest - before * BUCKET_MS).toISOString();
    const row = (kind: string, name: string, measures: Partial<Record<keyof typeof NOTHING, number>>) => ({
      ...{ time, kind, name, node: "n1", ...NOTHING },
      ...measures,
    });
    return [
      ...[1, 2, 3].map((at) => row("cluster", `n${at}`, { applied_index: 88_000 - before * 7, commit_ms: 3 })),
      ...["200", "429", "503"].map((status) => row("requests", status, { attempts: (before * 37) % 400 })),
      ...Array.from({ length: BACKENDS }, (_, at) =>
        row("backends", `provider-${at}`, {
          attempts: (before * at) % 90,
          failures: at % 3,
          ttfb_p50_ms: 120,
          in_flight: 4,
        }),
      ),
      row("budgets", "budget-1", { used: (before * 811) % 5_000, refused: before % 4 }),
    ];
  }).flat();
}
lists.set("history", listOf(historyRows()));

const EMPTY: List = listOf([]);
const listNamed = (table: string): List => lists.get(table) ?? EMPTY;

const server = createServer((request, response) => {
  response.on("error", () => undefined);
  const { pathname, searchParams } = new URL(request.url ?? "", "http://door");
  const path = pathname.replace("/admin/v1/", "");
  const known = Number(searchParams.get("index") ?? -1);
  if (path === "status") return send(response, JSON.stringify(STATUS));
  if (path === "whoami") return send(response, '{"issuer":"local","subject":"unix:0","roles":[]}');
  if (path === "config" || path.includes("/"))
    return send(response, '{"error":{"code":"not_found","message":"none"}}', 404);
  if (!Object.hasOwn(TABLES, path)) return send(response, '{"items":[]}');
  if (path === "requests" && known < requestsIndex) return sendRequests(response);
  if (path !== "requests" && known < listNamed(path).index) return sendList(response, listNamed(path));
  waiting.set(response, path);
  response.once("close", () => waiting.delete(response));
});

function change(tables: readonly Changing[]): void {
  for (const table of tables) {
    const list = listNamed(table);
    list.turn += 1;
    list.index += 1;
    for (let row = 0; row < ROWS_CHANGED; row += 1) {
      // Some of them are on the screen.
      const at = (row < 2 ? (list.turn * 7 + row) % 20 : list.turn * 31 + row * 97) % list.rows.length;
      list.rows[at] = JSON.stringify(MADE[table](at, list.turn));
    }
  }
  for (const [response, table] of waiting) {
    if (!tables.some((it) => it === table)) continue;
    waiting.delete(response);
    answers += 1;
    sendList(response, listNamed(table));
  }
}

/** The node's own recorder of recent requests, with its rows in API format. */
const recorder = createRequests();
let requestsIndex = 100;
let recorded = 0;
let feed: NodeJS.Timeout | undefined;

const sendRequests = (response: ServerResponse): void =>
  send(
    response,
    JSON.stringify({
      items: Array.from(recorder.rows.list() as Iterable<object>, (row) => ({ ...row, node: "n1" })),
      index: requestsIndex,
    }),
  );

recorder.rows.onChange(() => {
  requestsIndex += 1;
  for (const [response, table] of waiting) {
    if (table !== "requests") continue;
    waiting.delete(response);
    answers += 1;
    sendRequests(response);
  }
});

/** Records an answered governed request; one in fifty failed. */
function record(): void {
  recorded += 1;
  const hasFailed = recorded % 50 === 0;
  recorder.finished({
    ...{ at: Date.now(), id: `request-${recorded}`, caller: nameOfKey(recorded % 200), profile: "engineers" },
    ...{
      hop: "llm",
      route: "chat_completions",
      model: `p${recorded % 20}-chat`,
      provider: `provider-${recorded % 20}`,
    },
    ...{ status: hasFailed ? 503 : 200, code: hasFailed ? "upstream_unreachable" : "", attempts: 1 },
    ...{ firstByteMs: 120, totalMs: 900 + (recorded % 700), inputTokens: 200, outputTokens: 60, decidedBy: undefined },
  });
}

function feedAt(perSecond: number): void {
  clearInterval(feed);
  if (perSecond === 0) return;
  let last = performance.now();
  feed = setInterval(() => {
    const due = Math.floor(((performance.now() - last) * perSecond) / 1_000);
    last += (due * 1_000) / perSecond;
    for (let each = 0; each < due; each += 1) record();
  }, 1);
}

let clock: NodeJS.Timeout | undefined;

process.on("message", ({ changes, tables, requests = 0 }: LoadCommand) => {
  feedAt(requests);
  clearInterval(clock);
  if (changes > 0) clock = setInterval(() => change(tables), 1_000 / changes);
  const counts: Counts = { answers };
  process.send?.(counts);
});

endWithParent();
server.listen(socket, () => process.send?.({ answers } satisfies Counts));
