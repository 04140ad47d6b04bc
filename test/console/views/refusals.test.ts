import assert from "node:assert/strict";
import test from "node:test";
import type { RefusalRecord } from "../../../src/admin-api/index.ts";
import { attentionOf } from "../../../src/console/views/attention.ts";
import { refusalsView } from "../../../src/console/views/refusals.ts";
import { at, backend, contextOf, idsShown, rowsShown, startOf, whyOf } from "./traffic-fixtures.ts";

const refusal = (more: Partial<RefusalRecord>): RefusalRecord => ({
  node: "n1",
  caller_kind: "key",
  caller: "ci",
  code: "policy_denied",
  cause: "rule",
  cause_name: "no-opus",
  last_minute: 0,
  last_hour: 3,
  first_at: at(-600),
  last_at: at(-30),
  last_request: "r-1",
  ...more,
});

const REFUSALS = [
  refusal({}),
  refusal({ cause_name: "profile staff/no-opus", node: "n2", last_minute: 2 }),
  refusal({ cause: "budget", cause_name: "day", code: "budget_exhausted", last_minute: 25, last_hour: 800 }),
  refusal({ caller_kind: "unrecognised", caller: null, code: "unauthenticated", cause: null, cause_name: null }),
];
const context = contextOf({ list_refusals: REFUSALS });

test("the most frequent refusals are first, with caller, cause and nodes", () => {
  assert.deepEqual(
    rowsShown(refusalsView, context).map(([caller, code, by, minute, hour]) => [caller, code, by, minute, hour]),
    [
      ["key ci", "budget_exhausted", "budget day", "25", "800"],
      ["key ci", "policy_denied", "rule profile staff/no-opus", "2", "3"],
      ["key ci", "policy_denied", "rule no-opus", "0", "3"],
      ["unknown caller", "unauthenticated", "", "0", "3"],
    ],
  );
});

test("f goes to the cause, or to the profile of a profile's rule", () => {
  const [budget = "", ofProfile = "", rule = "", unknown = ""] = idsShown(refusalsView, context);
  const placeOf = (id: string) => {
    const intent = startOf(refusalsView, "follow", context, id);
    return intent.kind === "go" ? [intent.place.view, intent.row ?? intent.filter] : intent.kind;
  };
  assert.equal(placeOf(budget)[0], "budgets");
  assert.deepEqual(placeOf(ofProfile), ["profiles", "staff"]);
  assert.deepEqual(placeOf(rule), ["config", "no-opus"]);
  const GUARDED = [refusal({ cause: "guardrail", cause_name: "detector pii" }), refusal({ cause: "guardrail" })];
  const guarded = contextOf({ list_refusals: GUARDED });
  assert.deepEqual(
    idsShown(refusalsView, guarded).map((id) => startOf(refusalsView, "follow", guarded, id)),
    ["detector:pii", "rule:no-opus"].map((row) => ({ kind: "go", place: { view: "guardrails" }, row })),
  );
  assert.equal(whyOf(refusalsView, "follow", context, unknown), "the code says what refused it");
});

test("refusals because something failed are one alert for all callers, a warning at least and a failure if most are refused", () => {
  const alerts = (rows: readonly RefusalRecord[], rate = 0) =>
    attentionOf(contextOf({ list_refusals: rows, list_backends: [backend("acme", { rate })] })).map(
      ({ severity, id, text }) => [severity, id, text],
    );
  const failed = (caller: string, more: Partial<RefusalRecord> = {}) =>
    refusal({
      caller,
      code: "guardrail_error",
      cause: "guardrail",
      cause_name: "detector pii",
      last_minute: 2,
      ...more,
    });
  const rows = [failed("ci"), failed("cd"), failed("cd", { node: "n2" })];
  const text =
    "a failure refuses 6/min of 2 callers (guardrail_error, guardrail detector pii), more than are served; 9 in the hour, on n1, n2";
  const id = "failure:guardrail_error:guardrail:detector%20pii";
  assert.deepEqual(alerts(rows), [["fail", id, text]]);
  assert.deepEqual(alerts(rows, 0.1), [["warn", id, text.replace(", more than are served", "")]]);

  const signIns = failed("", {
    ...{ caller_kind: "unrecognised", caller: null, code: "unauthenticated" },
    ...{ cause: "credential", cause_name: "issuer_unreachable" },
  });
  const unknown =
    "a failure refuses 2/min (unauthenticated, credential issuer_unreachable), more than are served; 3 in the hour, on n1";
  assert.deepEqual(alerts([signIns]), [["fail", "failure:unauthenticated:credential:issuer_unreachable", unknown]]);
  for (const cause_name of ["malformed", "unknown_key", "expired_token"])
    assert.equal(alerts([{ ...signIns, cause_name }])[0]?.[0], "note", cause_name);
  const coded = ["policy_error", "credential_unavailable", "budget_unavailable", "audit_unavailable", "overloaded"];
  for (const code of [...coded, "internal", "no_certificate", "no_public_url", "removed"]) {
    const row = failed("ci", { code, cause: null, cause_name: null });
    assert.deepEqual([alerts([row])[0]?.[0], alerts([row], 1)[0]?.[0]], ["fail", "warn"], code);
  }
  for (const code of ["guardrail_denied", "policy_denied", "budget_exhausted", "suspended", "body_too_large"])
    assert.equal(alerts([failed("ci", { code })])[0]?.[0], "note", code);
});
