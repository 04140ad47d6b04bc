import assert from "node:assert/strict";
import test from "node:test";
import type { BackendFailure } from "../../../src/admin-api/index.ts";
import { errorsView, failureRows } from "../../../src/console/views/errors.ts";
import {
  at,
  bodyOf,
  contextOf,
  dialogOf,
  INCIDENT,
  idsShown,
  requestsOf,
  rowsShown,
  startOf,
  suspension,
  textsOf,
  whyOf,
} from "./traffic-fixtures.ts";

const failure = (seconds: number, more: Partial<BackendFailure> = {}): BackendFailure => ({
  time: at(seconds),
  status: 503,
  kind: "5xx",
  request: "r-1",
  caller: "ci",
  model: "gpt-fast",
  duration_ms: 812,
  error_type: "server_error",
  error_code: null,
  node: "n1",
  attempt: 1,
  moved_to: "acme-alt",
  ...more,
});

const FAILURES = [
  failure(-2),
  failure(-3, { status: null, kind: "connect", attempt: 2, moved_to: null, error_type: null }),
  failure(-4, { kind: "429", status: 429, moved_to: "acme-chat" }),
];
const context = contextOf({ ...INCIDENT, list_backend_errors: FAILURES }, { subject: "acme-chat" });

test("failures are newest first, with the failover", () => {
  assert.deepEqual(rowsShown(errorsView, context), [
    ["14:02:05Z", "503", "5xx", "server_error", "ci", "gpt-fast", "812ms", "1", "acme-alt", "n1", "r-1"],
    ["14:02:04Z", "-", "connect", "-", "ci", "gpt-fast", "812ms", "2", "no failover", "n1", "r-1"],
    ["14:02:03Z", "429", "429", "server_error", "ci", "gpt-fast", "812ms", "1", "retried here", "n1", "r-1"],
  ]);
});

test("failures are named by the provider's code, and grouped by code and model above the table", () => {
  const name = (more: Partial<BackendFailure>): string => {
    const one = contextOf({ ...INCIDENT, list_backend_errors: [failure(-1, more)] }, { subject: "acme-chat" });
    return bodyOf(errorsView).table(one).nameOf(0);
  };
  assert.equal(name({ error_code: "overloaded" }), "overloaded");
  assert.equal(name({}), "server_error");
  assert.equal(name({ error_type: null }), "503");
  assert.equal(name({ error_type: null, status: null, kind: "connect" }), "connect");
  const many = [
    ...[1, 2, 3].map((at) => failure(-at, { caller: `c${at % 2}` })),
    ...[4, 5].map((at) => failure(-at, { error_code: "rate_limited", model: null, caller: null })),
    failure(-9, { model: "other" }),
  ];
  const above = (rows: number, failures: readonly BackendFailure[] = many) =>
    textsOf(
      bodyOf(errorsView).above?.(contextOf({ ...INCIDENT, list_backend_errors: failures }, { subject: "acme-chat" }), {
        columns: 116,
        rows,
      }) ?? [],
    ).map((text) => text.trimEnd());
  assert.deepEqual(above(5), [
    "    3 x server_error  gpt-fast  2 callers, last 14:02:06Z",
    "    2 x rate_limited  0 callers, last 14:02:03Z",
    "    1 x server_error  other  1 caller, last 14:01:58Z",
    "",
  ]);
  assert.deepEqual(above(3), [
    "    3 x server_error  gpt-fast  2 callers, last 14:02:06Z",
    "      and 2 further groups below",
    "",
  ]);
  assert.deepEqual(above(1), []);
  assert.deepEqual(above(5, [failure(-1)]), [], "one failure is a row already");
});

test("failures of one millisecond keep their ids when newer ones come", () => {
  const before = failureRows([failure(-2), failure(-2)]).map(({ id }) => id);
  const after = failureRows([failure(-1), failure(-2), failure(-2), failure(-2)]).map(({ id }) => id);
  assert.equal(new Set(after).size, 4);
  assert.deepEqual(after.slice(2), before);
});

test("the view reads the errors of its subject, and asks for one if none is named", () => {
  assert.deepEqual(errorsView.needs("acme-chat")[0], { id: "list_backend_errors", name: "acme-chat" });
  assert.deepEqual(errorsView.needs(undefined), []);
  const unnamed = contextOf({ list_backend_errors: FAILURES });
  assert.deepEqual(idsShown(errorsView, unnamed), []);
  assert.equal(bodyOf(errorsView).empty(unnamed).sentence, "No provider was named.");
  assert.equal(whyOf(errorsView, "suspend", unnamed), "name a provider: `:errors NAME`");
  assert.equal(whyOf(errorsView, "lift", unnamed), "name a provider: `:errors NAME`");
});

test("a provider without failures has a plain sentence", () => {
  assert.equal(
    bodyOf(errorsView).empty(contextOf({ list_backend_errors: [] }, { subject: "acme-chat" })).sentence,
    "No failure of acme-chat on any node that answers, since its start.",
  );
});

test("s and u act on the provider, even without a row", () => {
  assert.equal(whyOf(errorsView, "suspend", context), undefined);
  assert.equal(whyOf(errorsView, "lift", context), "acme-chat is not suspended");
  assert.match(
    requestsOf(dialogOf(startOf(errorsView, "suspend", context)), context)[0] ?? "",
    /^PUT \/admin\/v1\/suspensions\/provider:acme-chat /,
  );
  const off = contextOf({ list_suspensions: [suspension("acme-chat")] }, { subject: "acme-chat" });
  assert.match(whyOf(errorsView, "suspend", off) ?? "", /suspended already/);
  assert.deepEqual(requestsOf(dialogOf(startOf(errorsView, "lift", off)), off), [
    "DELETE /admin/v1/suspensions/provider:acme-chat",
  ]);
});

test("f goes to the provider of the failover", () => {
  const [moved = "", failed = ""] = idsShown(errorsView, context);
  assert.deepEqual(startOf(errorsView, "follow", context, moved), {
    kind: "go",
    place: { view: "providers" },
    row: "acme-alt",
  });
  assert.equal(whyOf(errorsView, "follow", context, moved), undefined);
  assert.equal(whyOf(errorsView, "follow", context, failed), "the request had no failover");
  assert.equal(whyOf(errorsView, "follow", context, "gone"), "the failure is no longer kept");
});
