/** Derived state: ordered rows, the cursor, available actions, reads, and the view's status. */

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Reading } from "../../../src/console/model/data.ts";
import { createMemo, remember } from "../../../src/console/model/remember.ts";
import type { State } from "../../../src/console/model/state.ts";
import { tableRegions } from "../../../src/console/store/layout.ts";
import { compareTexts } from "../../../src/console/store/listing.ts";
import { withTable } from "../../../src/console/store/navigation.ts";
import {
  contextOf,
  cursorRowOf,
  freshnessOf,
  listingOf,
  needsOf,
  offersOf,
  selectionOf,
  statusOf,
  textOf,
} from "../../../src/console/store/selectors.ts";
import {
  after,
  backends,
  dataIn,
  dataOf,
  key,
  NOW,
  online,
  overview,
  pressed,
  ROWS,
  type Row,
  start,
  typed,
  VIEWS,
} from "./fixture.ts";

const listing = (state: State) => {
  const of = listingOf(state, VIEWS);
  assert.ok(of !== undefined);
  return of;
};
const names = (state: State): readonly string[] => {
  const { table, order } = listing(state);
  return order.map((at) => table.idOf(at));
};

test("rows are in the view's order, null last in either direction, equal ones by id", () => {
  const state = online([...ROWS, { name: "beta", state: "ok", rate: 9.1 }]);
  assert.deepEqual(names(state), ["acme-chat", "acme-alt", "beta", "pool-eu", "gamma"]);
  const up = withTable(state, { sort: { column: "rate", isDescending: false } });
  assert.deepEqual(names(up), ["pool-eu", "acme-alt", "beta", "acme-chat", "gamma"]);
});

test("a sort by a missing column falls back to the view's", () => {
  const state = withTable(online(), { sort: { column: "gone", isDescending: false } });
  assert.deepEqual(listing(state).sort, { column: "rate", isDescending: true });
});

test("texts are compared by code point", () => {
  assert.ok(compareTexts("\ufffd", "😀") < 0);
  assert.ok(compareTexts("a", "ab") < 0);
  assert.equal(compareTexts("a", "a"), 0);
});

test("rows are sorted again when they, the sort, the filter or the narrowing change, and never for the clock", () => {
  const state = online();
  const { order } = listing(state);
  assert.equal(listing(after(state, [{ kind: "tick", now: NOW + 1_000 }])).order, order);
  assert.equal(listing(pressed(state, "down down")).order, order);
  const asked = dataOf({ list_backends: ROWS }, NOW + 9_000);
  assert.equal(listing(after(state, [asked])).order, order);
  assert.notEqual(listing(after(state, [dataOf({ list_backends: [...ROWS] })])).order, order);
  assert.notEqual(listing(pressed(state, "b")).order, order);
});

test("a filter keeps its matches, and an invalid one filters nothing and says why", () => {
  const filtered = withTable(online(), { filter: "acme" });
  assert.deepEqual(names(filtered), ["acme-chat", "acme-alt"]);
  assert.equal(listing(filtered).total, 4);
  const wrong = withTable(online(), { filter: "/(/" });
  assert.equal(names(wrong).length, 4);
  assert.equal(listing(wrong).filterError, "the pattern is not a valid regular expression");
});

test("the selection is the visible marked rows in order, else the row under the cursor", () => {
  const marked = pressed(online(), "down down space up up space");
  assert.deepEqual(selectionOf(marked, VIEWS).ids, ["acme-alt", "pool-eu"]);
  assert.deepEqual(selectionOf(withTable(marked, { filter: "pool" }), VIEWS).ids, ["pool-eu"]);
  assert.deepEqual(selectionOf(withTable(marked, { filter: "gamma" }), VIEWS).ids, ["gamma"]);
  assert.deepEqual(selectionOf(online([]), VIEWS).ids, []);
});

const reason = (state: State, verb: string) => offersOf(state, VIEWS).find(({ offer }) => offer.verb === verb);

test("an unavailable action says why", () => {
  const begun = online();
  assert.equal(reason(begun, "suspend")?.disabledReason, undefined);
  assert.equal(reason(begun, "lift")?.disabledReason, "acme-chat is not suspended");
  assert.equal(reason(online([]), "suspend")?.disabledReason, "no row");
  assert.equal(reason(online([]), "mint")?.disabledReason, undefined);
  assert.equal(
    reason(pressed(begun, "space down space"), "remove")?.disabledReason,
    "X works on one row, but 2 are marked",
  );
  assert.equal(reason(pressed(begun, "z"), "suspend")?.disabledReason, "the screen is frozen; press z to resume");
  assert.equal(reason(pressed(begun, "z"), "view")?.disabledReason, undefined);
  assert.equal(reason(start(), "mint")?.disabledReason, "not available while connecting");
  assert.equal(reason(offline(begun), "suspend")?.disabledReason, "not available while OFFLINE: no connection");
});

test("read-only mode hides writing verbs and shows reading ones", () => {
  const state = online(ROWS, { isReadOnly: true });
  assert.equal(reason(state, "suspend")?.isShown, false);
  assert.equal(reason(state, "suspend")?.disabledReason, "read-only");
  assert.equal(reason(state, "view")?.isShown, true);
});

const FAILURE = { status: 0, code: "unreachable", message: "no connection", at: NOW };

function offline(state: State): State {
  const link = { kind: "offline", since: NOW, retryAt: NOW + 4_000, failure: FAILURE } as const;
  return after(state, [{ kind: "link", link: { ...state.link, state: link } }]);
}

test("the frame, the view and the row under the cursor decide what is read, each once", () => {
  const keys = needsOf(online(), VIEWS).map(({ id, name }) => (name === undefined ? id : `${id}:${name}`));
  assert.deepEqual(keys, [
    "get_status",
    "get_whoami",
    "list_cluster_members",
    "list_backends",
    "list_budgets",
    "list_suspensions",
    "get_config",
    "list_backend_errors:acme-chat",
  ]);
  assert.deepEqual(needsOf(pressed(online(), "s"), VIEWS).length, keys.length);
});

test("metrics are read for the overview if an address was given", () => {
  const has = (hasMetrics: boolean, view: string): boolean =>
    needsOf(start({ hasMetrics, place: { view } }), VIEWS).some(({ id }) => id === "metrics");
  assert.deepEqual([has(true, "overview"), has(false, "overview"), has(true, "providers")], [true, false, false]);
});

function failing(state: State, status: number, value: unknown): State {
  const reading = {
    value,
    freshAt: value === undefined ? undefined : NOW,
    requestedAt: NOW,
    failure: { ...FAILURE, status },
  };
  return after(state, [{ kind: "data", now: NOW, data: dataIn(new Map([["list_backends", reading]])) }]);
}

test("a view is loading, empty, filtered empty, forbidden, failed, offline, signed out, too small or well", () => {
  const status = (state: State) => statusOf(state, VIEWS);
  assert.deepEqual(status(start()), { kind: "loading", since: undefined });
  assert.deepEqual(status(online()), { kind: "ok" });
  assert.equal(status(online([])).kind, "empty");
  assert.deepEqual(status(typed(pressed(online(), "/"), "zz")), {
    kind: "filtered_out",
    total: 4,
    filter: "zz",
    isNarrowed: false,
  });
  assert.equal(status(failing(online(), 403, undefined)).kind, "forbidden");
  const failed = status(failing(online(), 500, ROWS));
  assert.ok(failed.kind === "failed" && failed.hasData);
  const away = status(offline(online()));
  assert.ok(away.kind === "offline" && away.hasData && away.retryAt === NOW + 4_000);
  const out = { ...online(), link: { ...online().link, state: { kind: "signed_out", failure: FAILURE } as const } };
  assert.equal(status(out).kind, "signed_out");
  assert.deepEqual(status(start({ size: { columns: 59, rows: 40 } })), { kind: "too_small", columns: 59, rows: 40 });
  assert.equal(status(typed(pressed(start({ place: { view: "overview" } }), "/"), "zz")).kind, "filtered_out");
});

test("a table is empty once all its lists are read, and until then loading, forbidden or failed", () => {
  const need = { id: "list_models" } as const;
  const views = VIEWS.map((view) =>
    view.body.kind === "table" ? { ...view, body: { ...view.body, rowNeeds: () => [need] } } : view,
  );
  const empty = online([]);
  const backends = { value: [], freshAt: NOW, requestedAt: NOW, failure: undefined };
  const withModels = (more: object): State => {
    const reading = { value: undefined, freshAt: NOW, requestedAt: NOW, failure: undefined, ...more };
    const readings = new Map<string, Reading<unknown>>([["list_backends", backends]]);
    readings.set("list_models", reading);
    const data = dataIn(readings);
    return after(empty, [{ kind: "data", now: NOW, data }]);
  };
  assert.deepEqual(statusOf(empty, views), { kind: "loading", since: undefined });
  assert.deepEqual(statusOf(withModels({}), views), { kind: "loading", since: NOW });
  assert.deepEqual(statusOf(withModels({ failure: { ...FAILURE, status: 403 } }), views).kind, "forbidden");
  assert.deepEqual(statusOf(withModels({ failure: FAILURE }), views).kind, "failed");
  assert.deepEqual(statusOf(withModels({ value: [] }), views).kind, "empty");
});

const FRESHNESS: readonly (readonly [age: number, word: string, tone: string])[] = [
  [1_000, "live 1s", "plain"],
  [5_000, "live 5s", "plain"],
  [6_000, "slow 6s", "warn"],
  [10_000, "slow 10s", "warn"],
  [42_000, "STALE 42s", "fail"],
];

for (const [age, word, tone] of FRESHNESS) {
  test(`after ${age} ms the data is ${word}`, () => {
    assert.deepEqual(freshnessOf(after(online(), [{ kind: "tick", now: NOW + age }]), VIEWS), { word, tone });
  });
}

/** For the view that reads the query tables: when each reading was fresh, or its error. */
function freshnessOfQuery(readings: Readonly<Record<string, number | undefined>>): string {
  const data = dataIn(
    new Map(
      Object.entries(readings).map(([key, freshAt]) => {
        const failure = freshAt === undefined ? { ...FAILURE, status: 403, code: "forbidden" } : undefined;
        return [key, { value: freshAt === undefined ? undefined : [], freshAt, requestedAt: NOW, failure }];
      }),
    ),
  );
  const at = { ...online(), place: { view: "query" } };
  return freshnessOf(after(at, [{ kind: "data", data, now: NOW + 42_000 }]), VIEWS).word;
}

test("a one-time read is as fresh as the node's own answers", () => {
  assert.equal(freshnessOfQuery({ list_query_tables: NOW, get_status: NOW + 41_000 }), "live 1s");
  assert.equal(freshnessOfQuery({ list_query_tables: NOW, get_status: NOW }), "STALE 42s");
});

test("a gateway with no readable list still counts as connected", () => {
  assert.equal(freshnessOfQuery({ list_query_tables: undefined, get_status: undefined }), "online");
  assert.equal(freshnessOfQuery({}), "connecting");
});

test("freshness shows the connection, a paused screen and read-only mode", () => {
  const word = (state: State): string => freshnessOf(state, VIEWS).word;
  assert.equal(word(start()), "connecting");
  assert.equal(word(offline(online())), "OFFLINE retry 4s");
  assert.equal(word(pressed(online(), "z")), "FROZEN");
  assert.equal(word(online(ROWS, { isReadOnly: true })), "live 0s READ-ONLY");
});

test("while the screen is paused, a context has the data and the clock of that moment", () => {
  const held = after(pressed(online(), "z"), [dataOf({ list_backends: [] }), { kind: "tick", now: NOW + 5_000 }]);
  assert.equal(contextOf(held).now, NOW);
  assert.equal(listing(held).total, 4);
  assert.equal(listing(pressed(held, "z")).total, 0);
});

test("a page view gives its lines, wrapped to the body and filtered", () => {
  const page = start({ place: { view: "overview" } });
  assert.equal(textOf(page, VIEWS)?.lines.length, 60);
  assert.equal(textOf(withTable(page, { filter: "line 1" }), VIEWS)?.lines.length, 11);
});

test("the rows of the screen are divided as in the reference", () => {
  assert.deepEqual(tableRegions({ columns: 120, rows: 35 }, backends), {
    above: 0,
    head: 1,
    rows: 18,
    pane: 9,
    side: 0,
  });
  assert.deepEqual(tableRegions({ columns: 80, rows: 24 }, backends), {
    above: 0,
    head: 1,
    rows: 16,
    pane: 0,
    side: 0,
  });
  assert.deepEqual(tableRegions({ columns: 60, rows: 16 }, overview).rows, 8);
});

test("results are cached by their inputs, the newest few", () => {
  let made = 0;
  const recall = createMemo<number>(2);
  const make = (): number => ++made;
  const [a, b, c] = [{}, {}, {}];
  assert.deepEqual([recall([a], make), recall([b], make), recall([a], make)], [1, 2, 1]);
  assert.deepEqual([recall([c], make), recall([a], make), recall([a, b], make)], [3, 4, 5]);
  const sum = remember((x: number, y: number) => ({ sum: x + y }));
  assert.equal(sum(1, 2), sum(1, 2));
  assert.notEqual(sum(1, 2), sum(2, 1));
});

test("moving the cursor over ten thousand rows costs less than a millisecond", () => {
  const rows: readonly Row[] = Array.from({ length: 10_000 }, (_, at) => ({
    name: `key-${at}`,
    state: "ok",
    rate: at % 97,
  }));
  let state = pressed(online(rows), "down");
  const times: number[] = [];
  for (let at = 0; at < 200; at += 1) {
    const began = performance.now();
    state = after(state, [key(at % 7 === 0 ? "pagedown" : "down")]);
    listing(state);
    times.push(performance.now() - began);
  }
  times.sort((a, b) => a - b);
  assert.equal(cursorRowOf(listing(state)) === undefined, false);
  assert.ok((times[100] ?? 9) < 1, `median ${times[100]} ms`);
});
