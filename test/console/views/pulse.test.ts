/** The pulse view: sums over all nodes in its panels, values at its cursor, and every size filled. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { HistoryRecord } from "../../../src/admin-api/index.ts";
import { drawScreen } from "../../../src/console/draw/draw-screen.ts";
import { renderTree } from "../../../src/console/draw/screen-reader.ts";
import type { Context } from "../../../src/console/model/context.ts";
import type { Data, Need, Readable, ReadableId, Reading } from "../../../src/console/model/data.ts";
import { keyOf } from "../../../src/console/model/data.ts";
import type { State } from "../../../src/console/model/state.ts";
import { textOfLine } from "../../../src/console/model/text.ts";
import type { ChartsBody } from "../../../src/console/model/view.ts";
import { initialState } from "../../../src/console/store/initial-state.ts";
import { createStep } from "../../../src/console/store/reducer.ts";
import { VIEWS } from "../../../src/console/views/all.ts";
import { pulseView } from "../../../src/console/views/pulse.ts";
import { stepWorkbench } from "../../../src/console/workbench/step-workbench.ts";

/** The newest complete bucket begins at 14:01:50. */
const NOW = Date.parse("2026-11-20T14:02:07.000Z");
const NEWEST = Date.parse("2026-11-20T14:01:50.000Z");
const BUCKET = 10_000;

type Measures = Partial<Omit<HistoryRecord, "kind" | "name" | "time" | "node">>;

/** `before` counts buckets before the newest. */
const row = (
  kind: HistoryRecord["kind"],
  name: string,
  measures: Measures,
  { before = 0, node = "n1" } = {},
): HistoryRecord => ({
  ...{ time: new Date(NEWEST - before * BUCKET).toISOString(), kind, name, node },
  ...{ attempts: null, failures: null, ttfb_p50_ms: null, ttfb_p95_ms: null, in_flight: null },
  ...{ input_tokens: null, output_tokens: null, used: null, refused: null, decisions: null, findings: null },
  ...{ types: null, held_bytes: null, applied_index: null, commit_ms: null },
  ...measures,
});

const heartbeat = (before: number, index: number, node = "n1") =>
  row("cluster", node, { applied_index: index, commit_ms: 3.1 }, { before, node });

const ROWS: readonly HistoryRecord[] = [
  ...Array.from({ length: 90 }, (_, before) => heartbeat(before, 1_000 - before * 2)),
  ...Array.from({ length: 90 }, (_, before) => heartbeat(before, 999 - before * 2, "n2")),
  row("requests", "200", { attempts: 120 }),
  row("requests", "200", { attempts: 60 }, { node: "n2" }),
  row("requests", "429", { attempts: 4 }),
  row("requests", "503", { attempts: 2 }, { node: "n2" }),
  row("requests", "200", { attempts: 10 }, { before: 3 }),
  row("backends", "acme", {
    ...{ attempts: 30, failures: 10, ttfb_p50_ms: 100, ttfb_p95_ms: 400, in_flight: 3 },
    ...{ input_tokens: 1_000, output_tokens: 200 },
  }),
  row("backends", "beta", { attempts: 20, failures: 0, ttfb_p50_ms: 200, ttfb_p95_ms: 900, in_flight: 1 }),
  row(
    "backends",
    "acme",
    { attempts: 5, ttfb_p50_ms: 7, ttfb_p95_ms: 9, in_flight: 1, input_tokens: 10 },
    { before: 3 },
  ),
  row("budgets", "team-research", { used: 500, refused: 4 }),
  row("budgets", "everyone", { used: 700 }, { node: "n2" }),
  row("guardrails", "cards", { decisions: 1 }),
  row("guardrails", "pii", { findings: 6 }),
];

const FORBIDDEN = { status: 403, code: "forbidden", message: "no", at: NOW };

function dataOf(rows: readonly HistoryRecord[], without?: string): Data {
  return {
    get<Id extends ReadableId>(need: Need<Id>): Reading<Readable[Id]> | undefined {
      if (need.id !== "list_history" || need.name === undefined) return undefined;
      const common = { freshAt: NOW, requestedAt: NOW };
      if (need.name === without) return { ...common, value: undefined, failure: FORBIDDEN };
      const value = rows.filter(({ kind }) => kind === need.name);
      return { ...common, value: value as unknown as Readable[Id], failure: undefined };
    },
  };
}

const contextOf = (data: Data, now = NOW): Context => ({
  ...{ data, now, subject: undefined, isReadOnly: false, isAscii: false, endpointFlags: "" },
  ...{ tail: undefined, verification: undefined },
});

const body: ChartsBody = (() => {
  if (pulseView.body.kind !== "charts") throw new Error("the pulse has no charts");
  return pulseView.body;
})();

const panelTexts = (at?: number, data = dataOf(ROWS), now = NOW): readonly string[] =>
  body.texts(contextOf(data, now), at);

test("each panel shows the newest bucket summed over the nodes, and its parts", () => {
  assert.deepEqual(panelTexts(), [
    "now, ten seconds from 14:01:50Z",
    "requests, 18.6/s, 200 18.0, 429 0.4, 503 0.2",
    "first byte, 900ms, p50 150ms, p95 of beta",
    "tokens, 7.2k/min, in 6.0k, out 1.2k",
    "spend, 7.2k/min, everyone 4.2k, team-research 3.0k",
    "denied, 24/min, 429 24, budget team-research 24, rule cards 6",
    "findings, 36/min, pii 36",
    "in flight, 4, acme 3, beta 1",
    "raft, 3.1ms, 12 entries/min, index 1000",
  ]);
});

test("the cursor shows the values of an earlier moment, or nothing if there were none", () => {
  assert.deepEqual(panelTexts(NEWEST - 3 * BUCKET).slice(0, 5), [
    "ten seconds from 14:01:20Z",
    "requests, 1.0/s, 200 1.0",
    "first byte, 9ms, p50 7ms, p95 of acme",
    "tokens, 60/min, in 60, out 0",
    "spend, 0/min",
  ]);
  assert.deepEqual(panelTexts(NEWEST - 5 * BUCKET).slice(2, 3), ["first byte, -"]);
});

test("a bucket that a node has not completed is not shown as a drop", () => {
  const ahead = [...ROWS, heartbeat(-1, 1_002), row("requests", "200", { attempts: 1 }, { before: -1 })];
  assert.equal(panelTexts(undefined, dataOf(ahead))[0], "now, ten seconds from 14:01:50Z");
  const gone = ahead.filter(({ node, time }) => node !== "n2" || Date.parse(time) < NEWEST - 60_000);
  assert.equal(
    panelTexts(undefined, dataOf(gone))[0],
    "now, ten seconds from 14:02:00Z",
    "one that is gone is not waited for",
  );
});

test("a forbidden or unsupported read is reported only in its panel", () => {
  const texts = panelTexts(undefined, dataOf(ROWS, "requests"));
  assert.equal(texts[1], "requests, not known: forbidden");
  assert.equal(texts[2], "first byte, 900ms, p50 150ms, p95 of beta");
});

const endpoint = { endpoint: { kind: "socket", path: "/run/g.sock" }, name: "unix:/run/g.sock", flags: "" } as const;
const step = createStep({ views: VIEWS, stepWorkbench });

function stateOf(columns: number, rows: number, isAscii = false): State {
  const options = { size: { columns, rows }, now: NOW, place: { view: "pulse" }, endpoint, endpoints: 1 };
  const state = initialState({ ...options, isReadOnly: false, isAscii, hasMetrics: false, hasTail: false });
  return { ...state, link: { ...state.link, state: { kind: "online" } }, data: dataOf(ROWS) };
}

const screenOf = (state: State): readonly string[] =>
  drawScreen(state, VIEWS, () => []).map((line) => textOfLine(line).trimEnd());

const pressed = (state: State, ...chords: readonly string[]): State =>
  chords.reduce((before, chord) => step(before, { kind: "key", chord }).state, state);

for (const [columns, rows] of [
  [60, 16],
  [80, 24],
  [100, 30],
  [120, 35],
  [200, 60],
] as const) {
  for (const isAscii of [false, true]) {
    test(`at ${columns}x${rows}${isAscii ? " in ASCII" : ""} all panels are on the screen, each with a chart`, () => {
      const screen = screenOf(stateOf(columns, rows, isAscii)).join("\n");
      for (const { value, title } of [
        { title: "REQUESTS", value: "18.6/s" },
        { title: "FIRST BYTE", value: "900ms" },
        { title: "TOKENS", value: "7.2k/min" },
        { title: "SPEND", value: "7.2k/min" },
        { title: "DENIED", value: "24/min" },
        { title: "FINDINGS", value: "36/min" },
        { title: "IN FLIGHT", value: "4" },
        { title: "RAFT", value: "3.1ms" },
      ])
        assert.match(screen, new RegExp(`${title} +${value}\\b`));
      if (isAscii) assert.match(screen, /^[\x20-\x7e\n]*$/);
      // The chart of raft is level, with a column per bucket.
      assert.match(screen, isAscii ? /[#+]{30,}/ : /[▇█]{30,}/);
    });
  }
}

test("arrow keys move the cursor by columns and pages; End returns to now", () => {
  const state = stateOf(120, 35);
  const isAt = (of: State): string => screenOf(of)[3] ?? "";
  assert.match(isAt(state), /now: the ten seconds from 14:01:50Z +2 nodes \(n1 n2\)/);
  const earlier = pressed(state, "left", "left", "left");
  assert.match(isAt(earlier), /14:01:20Z, 37s ago/);
  const later = step(earlier, { kind: "tick", now: NOW + 5_000 }).state;
  assert.match(isAt(later), /14:01:20Z, 42s ago/);
  assert.match(isAt(pressed(earlier, "pageup")), /14:00:20Z/);
  assert.match(isAt(pressed(earlier, "pageup", "pagedown", "right")), /14:01:30Z/);
  assert.match(isAt(pressed(earlier, "home")), /13:47:00Z/);
  for (const back of [pressed(earlier, "end"), pressed(earlier, "right", "right", "right", "right")])
    assert.match(isAt(back), /now: the ten seconds from 14:01:50Z/);
});

test("the cursor is a line through every chart, and its values can be copied", () => {
  const state = pressed(stateOf(120, 35), "left", "left", "left");
  const screen = screenOf(state).join("\n");
  assert.ok(screen.split("\n").filter((line) => / {2}│[▇█]/.test(line)).length >= 9, screen);
  const { effects } = step(state, { kind: "key", chord: "c" });
  assert.match(JSON.stringify(effects), /"copy".*ten seconds from 14:01:20Z\\nrequests, 1\.0\/s/);
});

test("a screen reader gets the values and no drawing", () => {
  const readerTree = JSON.stringify(renderTree(stateOf(120, 35), VIEWS, () => []));
  assert.match(readerTree, /requests, 18\.6\/s, 200 18\.0, 429 0\.4, 503 0\.2/);
  assert.doesNotMatch(readerTree, /[▁-█·]/);
});

test("a name with control characters is escaped", () => {
  const rows = [...ROWS, row("budgets", "\u001b[2J\u202eevil", { used: 9_000 })];
  const screen = screenOf({ ...stateOf(120, 35), data: dataOf(rows) }).join("\n");
  for (const obeyed of ["\u001b", "\u202e"]) assert.ok(!screen.includes(obeyed));
});

test("charts are reused while nothing was read", () => {
  const data = dataOf(ROWS);
  const kept: Data = { get: createKept(data) };
  const of = (now: number) => body.moments(contextOf(kept, now));
  assert.equal(of(NOW), of(NOW + 5_000));
});

/** Readings that are the same objects each time. */
function createKept(data: Data): Data["get"] {
  const known = new Map<string, unknown>();
  return <Id extends ReadableId>(need: Need<Id>) => {
    const key = keyOf(need);
    if (!known.has(key)) known.set(key, data.get(need));
    return known.get(key) as Reading<Readable[Id]> | undefined;
  };
}

test("t switches between 15 minutes and an hour of minutes, which is kept and named on the screen", () => {
  const minute = Date.parse("2026-11-20T14:01:00.000Z");
  const rows = Array.from({ length: 60 }, (_, before) => ({
    ...heartbeat(0, 1_000 - before),
    time: new Date(minute - before * 60_000).toISOString(),
  }));
  const request = { ...row("requests", "200", { attempts: 600 }), time: new Date(minute).toISOString() };
  const data: Data = {
    get<Id extends ReadableId>(need: Need<Id>): Reading<Readable[Id]> | undefined {
      if (need.id !== "list_history_minutes") return undefined;
      const value = [...rows, request].filter(({ kind }) => kind === need.name);
      return { freshAt: NOW, requestedAt: NOW, value: value as unknown as Readable[Id], failure: undefined };
    },
  };
  const { state, effects } = step({ ...stateOf(120, 35), data }, { kind: "key", chord: "t" });
  assert.deepEqual(effects, [
    { kind: "remember", what: { name: "preferences", change: { kind: "scale", scale: "1h" } } },
  ]);
  assert.deepEqual(pulseView.needs(undefined, "1h")[1], { id: "list_history_minutes", name: "requests" });
  const screen = screenOf(state).join("\n");
  assert.match(screen, /now: the minute from 14:01:00Z {3}1 node \(n1\) {3}charts of 1 hour/);
  assert.match(screen, /REQUESTS +10\.0\/s/);
  assert.match(screen, /13:02:00Z─.* 1 hour /);
  assert.equal(pressed(state, "t").preferences.chartScale, "15m");
});
