/** Verdicts on metered usage, and those that need attention. */
import assert from "node:assert/strict";
import test from "node:test";
import type { ReconcileRecord, ReconcileVerdictRecord } from "../../../src/admin-api/index.ts";
import { DRIFT, MISSING_REPORTS } from "../../../src/console/views/attention-reconcile.ts";
import { reconcileView } from "../../../src/console/views/reconcile.ts";
import { bodyOf, cellAt, contextOf, NOW, tableOfView, textsOf } from "./keys-fixture.ts";

const verdict = (others: Partial<ReconcileVerdictRecord> = {}): ReconcileVerdictRecord => ({
  day: "2026-11-17",
  provider: "acme",
  class: "output",
  metered: 970_000,
  reported: 1_000_000,
  delta: -30_000,
  ratio: 0.03,
  breach: 1,
  direction: "under",
  hard: 0,
  judged_at: new Date(NOW - 60_000).toISOString(),
  ...others,
});
const audited = (others: Partial<ReconcileRecord> = {}): ReconcileRecord => ({
  provider: "acme",
  type: "compat",
  scope: "organisation",
  fetched_at: new Date(NOW - 60_000).toISOString(),
  judged_to: "2026-11-17",
  days: 3,
  breaches: 2,
  unmeasured_streams: 2,
  error: null,
  ...others,
});
const VERDICTS = [
  verdict(),
  verdict({ day: "2026-11-16", direction: "over", hard: 1, delta: 30_000, metered: 1_000_000, reported: 970_000 }),
  verdict({ class: "input", breach: 0, delta: 0, ratio: 0, metered: 5, reported: 5, direction: "equal" }),
];
const CONTEXT = contextOf({ list_reconcile_verdicts: VERDICTS, list_reconcile: [audited()] });
const TABLE = tableOfView(reconcileView, CONTEXT);
const paneOf = (at: number, context = CONTEXT): string =>
  textsOf(bodyOf(reconcileView).pane?.(TABLE.idOf(at), context) ?? []).join("\n");

test("a verdict is a row, and an unexplained one needs attention", () => {
  const row = TABLE.columns.map(({ id }) => cellAt(TABLE, 0, id));
  assert.deepEqual(row, ["2026-11-17", "acme", "output", "970,000", "1,000,000", "-30,000", "3.00", "~ yes"]);
  assert.deepEqual(
    [0, 1, 2].map((at) => [cellAt(TABLE, at, "breach"), TABLE.isBad(at)]),
    [
      ["~ yes", false],
      ["! YES", true],
      ["no", false],
    ],
  );
});

test("the pane explains the direction of the difference", () => {
  assert.match(paneOf(0), /the rest of the organization, or streams that broke off\. 2 answers broke off/);
  assert.match(paneOf(1), /The gateway metered more than the provider reports/);
  assert.doesNotMatch(paneOf(2), /provider saw|More was metered/);
});

test("days before the first metering are last and are not a breach", () => {
  const before = (day: string, others: Partial<ReconcileVerdictRecord> = {}) =>
    verdict({ day, metered: 0, delta: -9_000_000, ratio: 1, hard: 1, ...others });
  const list = [before("2026-11-10"), before("2026-11-12", { class: "input" }), ...VERDICTS];
  const elsewhere = verdict({ provider: "other", day: "2026-11-01", metered: 0, ratio: 1 });
  const context = contextOf({ list_reconcile_verdicts: [...list, elsewhere] });
  const table = tableOfView(reconcileView, context);
  const by = table.columns.findIndex(({ id }) => id === "breach");
  const keys = list.map((_, at) => Number(table.sortKey(at, by)));
  assert.ok(Math.max(keys[0] ?? 0, keys[1] ?? 0) < Math.min(...keys.slice(2)), String(keys));
  assert.deepEqual(
    [0, 1].map((at) => [cellAt(table, at, "breach"), table.isBad(at)]),
    [
      ["before", false],
      ["before", false],
    ],
  );
  assert.equal(cellAt(table, list.length, "breach"), "~ yes", "a provider of which nothing was ever metered");
  assert.match(
    textsOf(bodyOf(reconcileView).pane?.(table.idOf(0), context) ?? []).join("\n"),
    /This gateway did not meter the provider yet/,
  );
  assert.doesNotMatch(
    textsOf(bodyOf(reconcileView).pane?.(table.idOf(2), context) ?? []).join("\n"),
    /did not meter the provider yet/,
  );
  assert.deepEqual(
    DRIFT.items(context).map(({ name, degree }) => [name, degree]),
    [
      ["acme", 2],
      ["other", 1],
    ],
  );
  const map = textsOf(bodyOf(reconcileView).above?.(context, { columns: 120, rows: 12 }) ?? []).join("\n");
  assert.match(map, / {2}- before it was metered here/);
});

test("an unreadable report is shown beside the verdicts, and if there are none yet", () => {
  const failing = [audited({ error: "nothing listens there", fetched_at: null })];
  assert.match(
    paneOf(0, contextOf({ list_reconcile_verdicts: VERDICTS, list_reconcile: failing })),
    /! nothing listens/,
  );
  const emptySentence = (list_reconcile: readonly ReconcileRecord[]) =>
    bodyOf(reconcileView).empty(contextOf({ list_reconcile_verdicts: [], list_reconcile })).sentence;
  assert.match(emptySentence(failing), /The report of acme cannot be read: nothing listens there/);
  assert.match(emptySentence([audited()]), /No day is compared yet/);
  assert.match(emptySentence([]), /No provider is reconciled/);
});

test("breaches are one alert per provider, with the worst named", () => {
  const [item, ...more] = DRIFT.items(CONTEXT);
  assert.deepEqual(more, []);
  assert.match(
    item?.text ?? "",
    /^2026-11-16 output: metered 1,000,000, reported 970,000 \(3\.0 %\); 1 further breach$/,
  );
  assert.deepEqual(item?.target, { place: { view: "reconcile" }, row: TABLE.idOf(1) });
  assert.deepEqual(DRIFT.items(contextOf({ list_reconcile_verdicts: [VERDICTS[2] as ReconcileVerdictRecord] })), []);
});

test("an unreadable report is an alert", () => {
  const items = MISSING_REPORTS.items(contextOf({ list_reconcile: [audited({ error: "refused" }), audited()] }));
  assert.deepEqual(
    items.map(({ text: message }) => message),
    ["its usage report cannot be read: refused"],
  );
});

test("the map has a line per provider and class, worst first, and a column per day", () => {
  const verdicts = [
    ...VERDICTS,
    verdict({ day: "2026-11-14", class: "cached_input", breach: 1, hard: 0, ratio: 0.3 }),
    verdict({ day: "2026-11-14", provider: "hostile\u202e\n\u001b[31m", breach: 0, ratio: 0 }),
  ];
  const lines = (columns: number, rows: number): readonly string[] =>
    textsOf(bodyOf(reconcileView).above?.(contextOf({ list_reconcile_verdicts: verdicts }), { columns, rows }) ?? []);
  const [heads = "", first = "", second = "", ...more] = lines(100, 12);
  assert.match(heads, /^2026-11-14 to 11-17 +14 15 16 17 $/);
  // An unexplained difference is above a larger one, and a day without a verdict differs from one without a difference.
  assert.match(first, /^acme output +· {2}· !▅ ~▅ $/u);
  assert.match(second, /^acme cached_input +~█ {2}· {2}· {2}· $/u);
  assert.match(more.join("\n"), /^acme input.*▁ $/mu);
  assert.ok(
    more.every((line) => !/[\p{Cc}\p{Bidi_C}]/u.test(line)),
    "nothing in a name moves the cursor",
  );
  assert.ok(lines(80, 5).length <= 5);
  assert.match(lines(80, 5).join("\n"), /2 more below/);
  assert.deepEqual(lines(80, 3), []);
});

test("the worst day is the first row, and its pane summarizes the others", () => {
  const { sort } = bodyOf(reconcileView);
  assert.deepEqual(sort, { column: "breach", isDescending: true });
  const by = TABLE.columns.findIndex(({ id }) => id === "breach");
  const keys = [0, 1, 2].map((at) => Number(TABLE.sortKey(at, by)));
  assert.ok((keys[1] ?? 0) > (keys[0] ?? 0) && (keys[0] ?? 0) > (keys[2] ?? 0), String(keys));
  assert.match(
    paneOf(1),
    /behind it +delta 30,000: the gateway metered more than the provider billed; use outside the gateway cannot explain it/,
  );
  assert.match(paneOf(0), /days +2 of 2 days over the bounds; the worst 2026-11-16, 3\.00 % apart/);
});
