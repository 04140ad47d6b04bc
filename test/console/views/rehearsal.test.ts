/** The requests of a rehearsal: causes with their callers above, a row each, and its explanation behind it. */
import assert from "node:assert/strict";
import test from "node:test";
import type { RehearsalResult } from "../../../src/admin-api/index.ts";
import { rehearsalView } from "../../../src/console/views/rehearsal.ts";
import { REHEARSED } from "../../server/admin/support/memory-rehearsals.ts";
import { bodyOf, cellAt, contextOf, tableOfView, textsOf } from "./keys-fixture.ts";

const CHANGES: RehearsalResult["changes"] = [
  ...REHEARSED.changes,
  { outcome: "served", cause: "rule old\u001b", requests: 3, callers: [{ caller: "web", requests: 3 }] },
  { outcome: "other_provider", cause: "azure", requests: 1_200, callers: [] },
];
const rehearsed = (changes: Partial<RehearsalResult> = {}) =>
  contextOf({}, { rehearsed: { title: "Write it", result: { ...REHEARSED, ...changes } } });
const body = bodyOf(rehearsalView);
const above = (changes: Partial<RehearsalResult>, rows = 9) =>
  textsOf(body.above?.(rehearsed(changes), { columns: 120, rows }) ?? []);

test("a row is a request with its new outcome, and opens its explanation", () => {
  const context = rehearsed();
  const table = tableOfView(rehearsalView, context);
  assert.deepEqual(
    ["caller", "outcome", "cause", "node", "request"].map((id) => cellAt(table, 0, id)),
    ["ci", "!REFUSED", "rule no-previews", "n1", "request-1"],
  );
  assert.equal(table.count, 1);
  assert.match(textsOf(body.pane?.(table.idOf(0), context) ?? []).join("\n"), /would be refused by rule no-previews/);
  assert.deepEqual(body.open?.(table.idOf(0), context), {
    kind: "load",
    title: "explain request-1",
    load: { kind: "explanation", id: "request-1" },
  });
});

test("causes with callers and unknown parts are above the table, as many as fit", () => {
  const reasons = [{ reason: "rule `tools` reads arguments", requests: 40 }];
  assert.deepEqual(above({ changes: CHANGES, reasons }), [
    "rehearsed Write it  2 requests of the last hour",
    "1         would be refused by rule no-previews  ci 1",
    "3         would be served, and were refused by rule old\\u001b  web 3",
    "1,200     would go to azure  ",
    "40        not known: rule `tools` reads arguments",
    "",
  ]);
  const few = above({ changes: CHANGES, reasons }, 5);
  assert.equal(few.length, 4);
  assert.match(few[2] ?? "", /and 3 more/);
});

const EMPTY = [
  ["nothing was rehearsed", contextOf({}), /No change was rehearsed yet/],
  ["the policy hides requests", rehearsed({ examples: null }), /does not permit you to list requests/],
  ["every outcome stays the same", rehearsed({ examples: [] }), /No request would have another outcome/],
] as const;

for (const [name, context, sentence] of EMPTY) {
  test(`an empty table says why: ${name}`, () => {
    assert.equal(tableOfView(rehearsalView, context).count, 0);
    assert.match(body.empty(context).sentence, sentence);
  });
}
