import assert from "node:assert/strict";
import test from "node:test";
import type { GuardrailRecord } from "../../../src/admin-api/index.ts";
import { guardrailsView } from "../../../src/console/views/guardrails.ts";
import { refusalsView } from "../../../src/console/views/refusals.ts";
import {
  at,
  bodyOf,
  cellOf,
  contextOf,
  idsShown,
  type Known,
  rowsShown,
  startOf,
  tableOfView,
  textsOf,
  whyOf,
} from "./traffic-fixtures.ts";

const NONE = {
  ...{ mode: null, schedule: null, role: null, kinds: null, threshold: null, timeout_ms: null, entities: null },
  ...{ requires: null, operator: null, fingerprint: null, horizon_bytes: null, decisions: null },
  ...{ texts_read: null, texts_remembered: null, recognizers: [], controls: [], exempt: [], errors: 0, node: "n1" },
} as const;

const detector = (name: string, more: Partial<GuardrailRecord> = {}): GuardrailRecord => ({
  ...NONE,
  kind: "detector",
  name,
  type: "pii",
  mode: "inline",
  schedule: "sync",
  role: "discover",
  kinds: ["input", "output"],
  on_error: "fail_closed",
  texts_read: 1_204,
  texts_remembered: 88,
  ...more,
});

const rule = (name: string, more: Partial<GuardrailRecord> = {}): GuardrailRecord => ({
  ...NONE,
  kind: "rule",
  name,
  type: "deny",
  on_error: "fail_closed",
  decisions: 12,
  ...more,
});

const RECORDS: readonly GuardrailRecord[] = [
  detector("pii", { recognizers: ["badge: EMPLOYEE"], exempt: ["staff"], threshold: 0.5, timeout_ms: 250 }),
  detector("judge", {
    type: "remote",
    mode: "shadow",
    role: "confirm",
    schedule: "async",
    on_error: "fail_open",
    errors: 3,
  }),
  rule("no-secrets", { requires: ["pii"], controls: ["soc2-cc6"] }),
  rule("cards", { type: "redact", operator: "mask", decisions: 2_400, errors: 1 }),
];
const context = contextOf({ list_guardrails: RECORDS });
const body = bodyOf(guardrailsView);

test("detectors and rules are in document order, with what each did", () => {
  assert.deepEqual(rowsShown(guardrailsView, context), [
    ["1", "detector", "pii", "pii", " inline", "sync", "input, output", "fail_closed", "1,204", "-", "0"],
    ["2", "detector", "judge", "remote confirm", "~SHADOW", "async", "input, output", "fail_open", "1,204", "-", "3"],
    ["3", "rule", "no-secrets", "deny", "-", "-", "-", "fail_closed", "-", "12", "0"],
    ["4", "rule", "cards", "redact mask", "-", "-", "all", "fail_closed", "-", "2,400", "1"],
  ]);
});

test("a failing detector needs attention, more if it fails closed", () => {
  const errors = (id: string) => cellOf(guardrailsView, context, id, "errors").tone;
  assert.deepEqual(idsShown(guardrailsView, context).map(errors), ["dim", "warn", "dim", "fail"]);
  assert.equal(cellOf(guardrailsView, context, "detector:judge", "mode").tone, "off");
  const table = tableOfView(guardrailsView, context);
  assert.deepEqual(
    [0, 1, 2, 3].map((row) => table.isBad(row)),
    [false, true, false, true],
  );
});

test("the pane shows what a detector reads and finds, and what a rule needs", () => {
  const pane = (id: string) => textsOf(body.pane?.(id, context) ?? []);
  assert.deepEqual(pane("detector:pii"), [
    "detector  pii  inline  sync, at most 250ms, threshold 0.5, fail_closed",
    "reads     texts of kind input, output",
    "finds     all types",
    "added     badge: EMPLOYEE",
    "counted   1,204 texts read, 88 remembered; 0 errors  on n1, since its process started",
    "health    no failure; cache answered 7 % of 1,292 texts",
    "last 15m  findings, all nodes            0  ",
    "not for   callers with staff",
  ]);
  assert.equal(
    pane("detector:judge")[0],
    "detector  remote confirm  SHADOW: rules do not see what it finds  async, fail_open",
  );
  assert.deepEqual(pane("rule:no-secrets"), [
    "rule      deny  fail_closed",
    "needs     pii",
    "controls  soc2-cc6",
    "counted   acted on 12 requests; 0 errors  on n1, since its process started",
    "last 15m  acted, all nodes               0  ",
  ]);
  assert.ok(pane("rule:cards").includes("rewrites  texts of kind all"));
  assert.deepEqual(body.pane?.("rule:pii", context), []);
});

test("the description has all fields, and says when the row no longer exists", () => {
  assert.ok(textsOf(body.describe?.("rule:cards", context) ?? []).some((text) => /^operator +mask$/.test(text)));
  assert.deepEqual(textsOf(body.describe?.("rule:gone", context) ?? []), ["It no longer exists."]);
});

test("f goes to exactly the refusals of the row", () => {
  const filterOf = (id: string): string => {
    const intent = startOf(guardrailsView, "follow", context, id);
    assert.ok(intent.kind === "go" && intent.place.view === "refusals");
    return intent.filter ?? "";
  };
  const times = { last_minute: 1, last_hour: 1, first_at: at(-9), last_at: at(-9), last_request: "r" };
  const list_refusals: Known["list_refusals"] = ["no-secrets", "no-secrets-2", "detector pii"].map((cause_name) => ({
    ...{ node: "n1", caller_kind: "key", caller: "ci", code: "guardrail_denied", cause: "guardrail", cause_name },
    ...times,
  }));
  const { count, haystack } = tableOfView(refusalsView, contextOf({ list_refusals }));
  const found = (filter: string) =>
    Array.from({ length: count }, (_, row) => row).filter((row) => haystack(row).includes(filter));
  assert.deepEqual(found(filterOf("rule:no-secrets")), [0]);
  assert.deepEqual(found(filterOf("detector:pii")), [2]);
  assert.equal(whyOf(guardrailsView, "follow", context, "rule:cards"), undefined);
  assert.equal(whyOf(guardrailsView, "follow", context, "rule:gone"), "it no longer exists");
  assert.equal(startOf(guardrailsView, "follow", context, "rule:gone").kind, "flash");
});

test("without guardrails the view says what that means and where they are configured", () => {
  assert.deepEqual(idsShown(guardrailsView, contextOf({ list_guardrails: [] })), []);
  const { sentence, next } = body.empty(contextOf({}));
  assert.equal(sentence, "No guardrails are configured: no text is inspected.");
  assert.match(next, /`guardrails:`.*gateway guardrails inspect -config FILE TEXT/);
});

test("names are shown without controls", () => {
  const evil = "p\u001b[2J";
  const hostile = contextOf({
    list_guardrails: [
      detector(evil, { type: "\u0007", recognizers: [evil], entities: [evil], exempt: [evil], kinds: [evil] }),
      rule(evil, { controls: [evil], requires: [evil], operator: evil }),
    ],
  });
  const texts = [
    ...rowsShown(guardrailsView, hostile).flat(),
    ...idsShown(guardrailsView, hostile).flatMap((id) => textsOf(body.describe?.(id, hostile) ?? [])),
  ];
  assert.ok(texts.length > 40);
  for (const text of texts) assert.doesNotMatch(text, /[\x00-\x1f]/);
});
