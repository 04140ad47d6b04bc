/**
 * Acknowledged alerts fold in the overview, and return at their expiry, when they get worse, or when they are lifted.
 */

import assert from "node:assert/strict";
import test from "node:test";
import type { AcknowledgementRecord } from "../../../src/admin-api/index.ts";
import { acknowledgementsView } from "../../../src/console/views/acknowledgements.ts";
import { attentionOf } from "../../../src/console/views/attention.ts";
import { overviewView } from "../../../src/console/views/overview.ts";
import {
  answersOf,
  at,
  bodyOf,
  budget,
  contextOf,
  dialogOf,
  INCIDENT,
  idsShown,
  type Known,
  linesOf,
  model,
  requestsOf,
  rowsShown,
  startOf,
  suspension,
  textsOf,
  whyOf,
} from "./traffic-fixtures.ts";

const acknowledgement = (name: string, facts: Partial<AcknowledgementRecord> = {}): AcknowledgementRecord => ({
  name,
  reason: "known since noon",
  by: "alice@example",
  created_at: at(-600),
  until: at(3_600),
  severity: "fail",
  degree: 1,
  status: "active",
  ...facts,
});

const NAME = "provider:acme-chat";
const seen = (acknowledged: readonly AcknowledgementRecord[], more: Known = {}) =>
  contextOf({ ...INCIDENT, ...more, list_acknowledgements: acknowledged });

test("acknowledged rows fold into a counting line at the end, and Enter lists them", () => {
  const context = seen([acknowledgement(NAME)]);
  assert.deepEqual(rowsShown(overviewView, context), [
    ["~ SUSP", "provider", "beta-labs", '"key rotation" by alice@example, lifts in 12m 02s', "[u] lift"],
    [". ACKED", "", "1 acknowledged", "FAIL acme-chat", "[Enter] acknowledgements"],
  ]);
  const { open } = bodyOf(overviewView);
  assert.deepEqual(open?.("acknowledged", context), { kind: "go", place: { view: "acknowledgements" } });
});

test("an acknowledged alert returns at its expiry without a further read", () => {
  const context = seen([acknowledgement(NAME, { until: at(1) })]);
  assert.equal(idsShown(overviewView, context)[0], "suspension:provider:beta-labs");
  const after = { ...context, now: context.now + 1_000 };
  assert.deepEqual(idsShown(overviewView, after), [NAME, "suspension:provider:beta-labs"]);
  const { turn } = bodyOf(overviewView);
  assert.notEqual(turn?.(context), turn?.(after));
});

test("an acknowledged alert returns when it is more severe", () => {
  const name = "budget:day/shared";
  const hot = { list_budgets: [budget("day", { status: "low", used: 4_812_330 })] } as const;
  const spent = { list_budgets: [budget("day", { status: "exhausted", limit: 10, used: 10 })] } as const;
  const acknowledged = [acknowledgement(name, { severity: "warn" })];
  assert.ok(!idsShown(overviewView, seen(acknowledged, hot)).includes(name));
  const row = rowsShown(overviewView, seen(acknowledged, spent)).find(([what]) => what === "! SPENT");
  assert.match(row?.[3] ?? "", /^worse than when alice@example acknowledged it: all of 10 units/);
});

test("an acknowledged alert returns when it covers more, and not when it covers fewer", () => {
  const off = [suspension("acme-chat"), suspension("beta-labs"), suspension("acme-alt"), suspension("gamma")];
  const unserved = (models: number) =>
    seen([acknowledgement("models:unserved", { degree: 2 })], {
      list_suspensions: off,
      list_models: Array.from({ length: models }, (_, of) => model(`m${of}`, "acme-chat")),
    });
  const isShown = (models: number) => idsShown(overviewView, unserved(models)).includes("models:unserved");
  assert.deepEqual([1, 2, 3].map(isShown), [false, false, true]);
});

test("an acknowledgement without a degree is not compared", () => {
  const context = seen([acknowledgement(NAME, { severity: null, degree: null })]);
  assert.ok(!idsShown(overviewView, context).includes(NAME));
});

test("the key a acknowledges one or several with reason and expiry, and records their severity", () => {
  const context = seen([]);
  const dialog = dialogOf(startOf(overviewView, "acknowledge", context, NAME, "suspension:provider:beta-labs"));
  assert.equal(dialog.title, "Acknowledge 2 rows");
  assert.deepEqual(requestsOf(dialog, context, { reason: "in hand", duration: "8h" }), [
    'PUT /admin/v1/acknowledgements/provider%3Aacme-chat {"reason":"in hand","duration":"8h","severity":"fail","degree":1}',
    'PUT /admin/v1/acknowledgements/suspension%3Aprovider%3Abeta-labs {"reason":"in hand","duration":"8h","severity":"warn","degree":1}',
  ]);
  const [reason] = dialog.fields;
  assert.ok(reason?.kind === "text" && reason.isRequired);
  assert.match(reason.validate?.("") ?? "", /other operators read it/);
  assert.equal(dialogOf(startOf(overviewView, "acknowledge", context, NAME)).title, "Acknowledge provider acme-chat");
});

test("u lifts an acknowledgement, and restores the one that it replaced", () => {
  const before = seen([]);
  const first = dialogOf(startOf(overviewView, "acknowledge", before, NAME));
  const after = seen([acknowledgement(NAME)]);
  const lift = first.undo?.(answersOf(first, { reason: "r" }), before)?.(after);
  assert.ok(lift);
  assert.deepEqual(requestsOf(lift, after), ["DELETE /admin/v1/acknowledgements/provider%3Aacme-chat"]);
  const extend = dialogOf(startOf(acknowledgementsView, "extend", after, NAME));
  assert.match(linesOf(extend, after).join(), /Already: "known since noon" by alice@example, ends in 1h 00m/);
  const again = extend.undo?.(answersOf(extend), after)?.(after);
  assert.ok(again);
  assert.deepEqual(requestsOf(again, after), [
    'PUT /admin/v1/acknowledgements/provider%3Aacme-chat {"reason":"known since noon","duration":"1h","severity":"fail","degree":1}',
  ]);
});

test("an unavailable acknowledgement says why", () => {
  assert.match(whyOf(overviewView, "acknowledge", contextOf(INCIDENT), NAME) ?? "", /not loaded yet/);
  const context = seen([acknowledgement(NAME)]);
  assert.equal(
    whyOf(overviewView, "acknowledge", context, "acknowledged"),
    "1 acknowledged cannot be acknowledged: Enter lists them",
  );
  assert.equal(whyOf(overviewView, "acknowledge", context, "gone"), "the alert has cleared");
});

test("the view shows reason, end and current state", () => {
  const context = seen([
    acknowledgement(NAME),
    acknowledgement("suspension:provider:beta-labs", { severity: "note", until: at(7_200) }),
    acknowledgement("budget:day/shared", { until: at(9_000) }),
    acknowledgement("member:n3", { until: at(-5), status: "ended" }),
  ]);
  assert.deepEqual(
    rowsShown(acknowledgementsView, context).map((row) => [row[0], row[1], row[5]]),
    [
      [" ended", "member:n3", "-"],
      [" folded", "provider acme-chat", "1h 00m"],
      ["!worse", "provider beta-labs", "2h 00m"],
      [" gone", "budget:day/shared", "2h 30m"],
    ],
  );
  const { pane, open } = bodyOf(acknowledgementsView);
  assert.match(
    textsOf(pane?.(NAME, context) ?? []).join("\n"),
    /known since noon[\s\S]*worse than it was \(fail\)[\s\S]*now +! FAIL +61\.0 %/,
  );
  assert.deepEqual(open?.(NAME, context), { kind: "go", place: { view: "providers" }, row: "acme-chat" });
  assert.equal(open?.("budget:day/shared", context).kind, "flash");
  assert.match(
    whyOf(acknowledgementsView, "extend", context, "budget:day/shared") ?? "",
    /does not want attention now/,
  );
  assert.equal(whyOf(acknowledgementsView, "lift", context, NAME), undefined);
  assert.match(
    whyOf(acknowledgementsView, "lift", context, "member:n3") ?? "",
    /(no longer acknowledged|acknowledged any longer)/,
  );
});

test("degrees are whole numbers of at least one unless stated otherwise", () => {
  const items = attentionOf(seen([]));
  assert.ok(items.length > 0);
  for (const { degree = 1 } of items) assert.ok(Number.isSafeInteger(degree) && degree >= 0);
});

const FLAPPING_LIMIT_MS = 600_000;
/** Some time after everything this console has seen. */
function later(context: ReturnType<typeof seen>, ms: number, more: Known): ReturnType<typeof seen> {
  const next = { ...seen([acknowledgement(NAME)], more), now: context.now + ms };
  const fresh = { get: (need: Parameters<typeof next.data.get>[0]) => withFreshness(next.data.get(need), next.now) };
  const before = context.recurrences;
  const read = { ...next, data: fresh as typeof next.data, ...(before !== undefined && { recurrences: before }) };
  const recurrences = overviewView.recurrences?.(read);
  return { ...read, ...(recurrences !== undefined && { recurrences }) };
}
const withFreshness = (reading: unknown, freshAt: number): unknown =>
  typeof reading === "object" && reading !== null
    ? { ...reading, freshAt }
    : { value: undefined, freshAt, requestedAt: freshAt, failure: FORBIDDEN };
const FORBIDDEN = { status: 403, code: "forbidden", message: "not permitted", at: 0 };
const WELL: Known = { list_backends: [] };

test("an alert that was clear for ten minutes returns, and a flapping one does not", () => {
  const began = later(seen([acknowledgement(NAME)]), 0, {});
  assert.ok(!idsShown(overviewView, began).includes(NAME));
  const flapped = later(later(began, 1_000, WELL), FLAPPING_LIMIT_MS - 1, {});
  assert.ok(!idsShown(overviewView, flapped).includes(NAME));
  const gone = later(flapped, 1_000, WELL);
  const back = later(later(gone, FLAPPING_LIMIT_MS / 2, WELL), FLAPPING_LIMIT_MS / 2, {});
  assert.equal(idsShown(overviewView, back)[0], NAME);
  assert.match(
    rowsShown(overviewView, back)[0]?.[3] ?? "",
    /^back after 10m 00s since alice@example acknowledged it: /,
  );
  assert.equal(rowsShown(acknowledgementsView, back)[0]?.[0], "!back");
  assert.equal(idsShown(overviewView, later(back, 1_000, {}))[0], NAME, "until it is acknowledged again");
});

test("an alert does not count as clear while it was not observed", () => {
  const stale = { ...seen([acknowledgement(NAME)], WELL), now: seen([]).now + FLAPPING_LIMIT_MS };
  assert.equal(overviewView.recurrences?.(stale).get(NAME)?.clearedSince, undefined);
});

test("a suspension made after the acknowledgement is a new alert", () => {
  const name = "suspension:provider:beta-labs";
  const put = (created_at: string) => ({ list_suspensions: [suspension("beta-labs", { created_at })] });
  const shownOf = (more: Known) =>
    idsShown(overviewView, seen([acknowledgement(name, { severity: "warn" })], more)).includes(name);
  assert.deepEqual([shownOf(put(at(-700))), shownOf(put(at(-500)))], [false, true]);
});
