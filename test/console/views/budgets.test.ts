import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import { filterOf } from "../../../src/console/store/filter.ts";
import { budgetsView } from "../../../src/console/views/budgets.ts";
import { burnOf, burnText, ownerOf, refusalCause, usedPercent } from "../../../src/console/views/budgets-bucket.ts";
import {
  bodyOf,
  bucket,
  cellAt,
  contextOf,
  NOW,
  profile,
  startOf,
  tableOfView,
  textsOf,
  whyOf,
} from "./keys-fixture.ts";

const DIGEST = "q7Zk3v0W9xY2uTf1LrB8nMc5hDg6sJpAeRiOoKwQyXz";
const ROWS = [
  bucket({ budget: "team", used: 4_812_330, remaining: 187_670, status: "low", reserved: 12 }),
  bucket({ budget: "ci", bucket: "abcd1234", key: "ci-main", limit: 200_000, used: 12_000, window: "1h" }),
  bucket({ budget: "mcp", limit: 10_000, used: 10_000, remaining: 0, status: "exhausted" }),
  bucket({ budget: "ci", bucket: DIGEST }),
];
const CONTEXT = contextOf({
  list_budgets: ROWS,
  list_profiles: [profile({ budget: "team" }), profile({ name: "batch", budget: "team", keys: 1 })],
});
const TABLE = tableOfView(budgetsView, CONTEXT);

test("a bucket is a row of its window", () => {
  const row = (at: number) => TABLE.columns.map(({ id }) => cellAt(TABLE, at, id));
  assert.deepEqual(
    TABLE.columns.map(({ head }) => head),
    ["BUDGET", "BUCKET", "WINDOW", "LIMIT", "USED", "%", "BAR", "RESERVED", "RESETS IN", "STATUS"],
  );
  assert.deepEqual(row(0), [
    "team",
    "shared",
    "24h",
    "5,000,000",
    "4,812,330",
    "96.2",
    "###################.",
    "12",
    "9h 57m",
    "~hot",
  ]);
  assert.deepEqual(row(1).slice(0, 5), ["ci", "key ci-main", "1h", "200,000", "12,000"]);
  assert.deepEqual([cellAt(TABLE, 2, "bar"), cellAt(TABLE, 2, "status")], ["#".repeat(20), "!SPENT"]);
  assert.equal(cellAt(TABLE, 3, "bucket"), "q7Zk3v0W..QyXz");
  assert.deepEqual(
    ROWS.map((_, at) => TABLE.isBad(at)),
    [true, false, true, false],
  );
  assert.deepEqual(bodyOf(budgetsView).sort, { column: "%", isDescending: true });
});

test("the bar uses block characters if the terminal has them", () => {
  const table = tableOfView(budgetsView, contextOf({ list_budgets: ROWS }, { isAscii: false }));
  assert.equal(cellAt(table, 1, "bar"), `█${"░".repeat(19)}`);
});

test("a column abbreviates all numbers if one would not fit", () => {
  const rows = [bucket({ limit: Number.MAX_SAFE_INTEGER }), ...ROWS];
  const table = tableOfView(budgetsView, contextOf({ list_budgets: rows }));
  assert.deepEqual(
    [0, 1, 2].map((at) => cellAt(table, at, "limit")),
    ["9.0P", "5.0M", "200k"],
  );
});

test("a budget is shown as fully used only when it is", () => {
  assert.equal(usedPercent({ used: 999_999, limit: 1_000_000 }), "99.9");
  assert.equal(usedPercent({ used: 1_000_000, limit: 1_000_000 }), "100.0");
  assert.equal(usedPercent({ used: 1_200_000, limit: 1_000_000 }), "120.0");
  assert.equal(usedPercent({ used: 0, limit: 0 }), "100.0");
});

const HOUR_MS = 3_600_000;
/** A day's window of which `passedMs` have passed. */
const passed = (passedMs: number, others: Parameters<typeof bucket>[0] = {}) =>
  bucket({ resets_at: new Date(NOW + 24 * HOUR_MS - passedMs).toISOString(), ...others });

test("the remaining time is estimated from the window's average and labeled as an estimate", () => {
  const fast = passed(6 * HOUR_MS, { used: 4_800_000, remaining: 200_000 });
  assert.deepEqual(burnOf(fast, NOW), { kind: "exhausts", perHour: 800_000, inMs: HOUR_MS / 4 });
  assert.equal(
    burnText(fast, NOW),
    "800,000 an hour: exhausted in 15m 00s at this window's average, the window ends in 18h 00m (estimate)",
  );
  const slow = passed(12 * HOUR_MS, { used: 1_200_000, remaining: 3_800_000 });
  assert.equal(
    burnText(slow, NOW),
    "100,000 an hour: lasts beyond the reset at this window's average, the window ends in 12h 00m (estimate)",
  );
});

test("there is no estimate without data", () => {
  assert.equal(burnOf(passed(60_000), NOW).kind, "early");
  assert.equal(burnOf(passed(HOUR_MS, { used: 0 }), NOW).kind, "unused");
  assert.equal(burnOf(passed(HOUR_MS, { status: "exhausted" }), NOW).kind, "spent");
  assert.equal(burnOf(passed(24 * HOUR_MS), NOW).kind, "over");
  assert.equal(burnOf(passed(HOUR_MS, { window: "a day" }), NOW).kind, "early");
});

test("an estimate says exhausted only when that is before the reset", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 24 * HOUR_MS - 1 }),
      fc.integer({ min: 0, max: 10_000_000 }),
      fc.integer({ min: 1, max: 10_000_000 }),
      (passedMs, used, remaining) => {
        const burn = burnOf(passed(passedMs, { used, remaining }), NOW);
        if (burn.kind === "exhausts") assert.ok(burn.inMs < 24 * HOUR_MS - passedMs);
        if (burn.kind === "lasts") assert.ok((used / passedMs) * (24 * HOUR_MS - passedMs) <= remaining * 1.000_001);
      },
    ),
  );
});

const paneOf = (id: string): readonly string[] => textsOf(bodyOf(budgetsView).pane?.(id, CONTEXT) ?? []);

test("the pane lists the users of the bucket and the nodes with a grant", () => {
  const holders = [
    { node: "n1", granted: 12_000, spent: 2_104_331 },
    { node: "n2", granted: 0, spent: 7 },
  ];
  const context = contextOf({
    list_budgets: [bucket({ budget: "team", holders, reserved: 5, granted: 12_000 })],
    list_profiles: [profile({ budget: "team" }), profile({ name: "batch", budget: "team", keys: 1 })],
  });
  const lines = textsOf(bodyOf(budgetsView).pane?.("team/shared", context) ?? []);
  assert.equal(lines.length, 7);
  assert.match(lines[1] ?? "", /^burn .* at this window's average.*\(estimate\)/);
  assert.equal(
    lines[2],
    "left      2,950,000; 5 reserved here, 12,000 granted and unspent  window ends 2026-11-21 00:00Z",
  );
  assert.equal(lines[3], "used by   profiles standard, batch  8 keys");
  assert.deepEqual(
    lines.slice(4).map((line) => line.split(/ +/)),
    [
      ["NODE", "GRANTED", "SPENT"],
      ["n1", "12,000", "2,104,331"],
      ["n2", "0", "7"],
    ],
  );
  assert.match(paneOf("ci/abcd1234")[3] ?? "", /the key ci-main alone/);
  assert.match(paneOf(`ci/${DIGEST}`)[3] ?? "", /a token's subject/);
  assert.deepEqual(paneOf("gone/shared"), []);
});

test("the pane lists three nodes and counts the others", () => {
  const holders = Array.from({ length: 5 }, (_, at) => ({ node: `n${at}`, granted: 1, spent: 1 }));
  const context = contextOf({ list_budgets: [bucket({ holders })] });
  const lines = textsOf(bodyOf(budgetsView).pane?.("day-5m/shared", context) ?? []);
  assert.equal(lines.length, 8);
  assert.equal(lines.at(-1), "and 3 more; d shows all");
  const all = textsOf(bodyOf(budgetsView).describe?.("day-5m/shared", context) ?? []);
  assert.ok(all.some((line) => /^n4 +1 +1$/.test(line)));
  assert.ok(!all.includes("and 3 more; d shows all"));
});

test("follow goes to the key of the bucket, or to the keys of a shared one", () => {
  assert.deepEqual(startOf(budgetsView, "follow", ["ci/abcd1234"], CONTEXT), {
    kind: "go",
    place: { view: "keys" },
    filter: "",
    row: "ci-main",
  });
  assert.deepEqual(startOf(budgetsView, "follow", ["team/shared"], CONTEXT), {
    kind: "go",
    place: { view: "keys" },
    filter: "budget=team,",
  });
  assert.match(whyOf(budgetsView, "follow", [`ci/${DIGEST}`], CONTEXT) ?? "", /^q7Zk3v0W\.\.QyXz is a token's subject/);
  assert.equal(whyOf(budgetsView, "follow", ["gone/shared"], CONTEXT), "the bucket no longer exists");
});

test("the filter of a key finds its bucket", () => {
  const rows = [ROWS[1] ?? bucket(), bucket({ budget: "ci", bucket: "x", key: "ci-main-2" })];
  const table = tableOfView(budgetsView, contextOf({ list_budgets: rows }));
  const filter = filterOf("key=ci-main,");
  assert.deepEqual(
    rows.map((_, at) => filter.kind === "match" && filter.test(table.haystack(at))),
    [true, false],
  );
});

test("a budget that refuses although something is left says which of the two reasons it was", () => {
  const row = bucket({
    budget: "team",
    limit: 1_000,
    used: 100,
    remaining: 900,
    status: "refusing",
    refused_per_minute: 2,
  });
  const refused = (code: string, more = {}) => ({
    cause: "budget" as const,
    cause_name: "team",
    code,
    last_minute: 1,
    ...more,
  });
  const tooLittle =
    "each reserves more than the 900 left: up to a token per input byte, plus max_tokens (16,384 if unset)";
  const notGranted = "the cluster granted its node no units in time (check the quorum and the leader's disk)";
  assert.equal(refusalCause(row, [refused("budget_exhausted")]), tooLittle);
  assert.equal(refusalCause(row, [refused("budget_unavailable")]), notGranted);
  const both = `${tooLittle}; or ${notGranted}`;
  assert.equal(refusalCause(row), both);
  assert.equal(refusalCause(row, [refused("budget_exhausted"), refused("budget_unavailable")]), both);
  assert.equal(refusalCause(row, [refused("budget_unavailable", { cause_name: "other" })]), both);
  assert.equal(refusalCause(row, [refused("budget_unavailable", { last_minute: 0 })]), both);
  assert.equal(refusalCause(bucket({ ...row, remaining: 0 }), [refused("budget_unavailable")]), "");
});

test("owners are shown without control characters", () => {
  assert.equal(ownerOf({ bucket: "abcd1234", key: "a\u001b[2Jb" }), "key a\\u001b[2Jb");
});
