import assert from "node:assert/strict";
import test from "node:test";
import { modelsView } from "../../../src/console/views/models.ts";
import {
  bodyOf,
  cellOf,
  contextOf,
  dialogOf,
  INCIDENT,
  idsShown,
  model,
  requestsOf,
  rowsShown,
  startOf,
  suspension,
  tableOfView,
  textsOf,
  whyOf,
} from "./traffic-fixtures.ts";

const context = contextOf(INCIDENT);
const body = bodyOf(modelsView);

test("models are in matching order", () => {
  assert.deepEqual(rowsShown(modelsView, context), [
    ["1", "acme-large", "name", " ok", "acme-chat", "same", "compat", "beta-labs, acme-alt"],
    ["2", "acme-*", "pattern", " ok", "acme-chat", "same", "compat", "beta-labs"],
    ["3", "fast", "alias", " ok", "acme-alt", "acme-small", "compat", "-"],
  ]);
});

test("a model is shown as suspended, failing over or without a provider", () => {
  const off = contextOf({
    ...INCIDENT,
    list_suspensions: [suspension("acme-chat"), suspension("beta-labs"), suspension("acme-small", { kind: "model" })],
  });
  const state = (id: string) => cellOf(modelsView, off, id, "state");
  assert.deepEqual(state("acme-large"), { text: "~failover", tone: "warn" });
  assert.deepEqual(state("acme-*"), { text: "!NOBODY", tone: "fail" });
  assert.deepEqual(state("fast"), { text: "~SUSPENDED", tone: "off" });
  const table = tableOfView(modelsView, off);
  assert.deepEqual(
    [0, 1, 2].map((row) => table.isBad(row)),
    [true, true, true],
  );
});

test("the pane shows the plan with the state of each provider", () => {
  assert.deepEqual(textsOf(body.pane?.("acme-large", context) ?? []), [
    "state     ok  now uses acme-chat",
    "plan      acme-chat FAILING > beta-labs SUSPENDED > acme-alt",
    "sent as   the same name",
    "dialects  compat",
  ]);
  assert.deepEqual(body.pane?.("gone", context), []);
});

test("s suspends a model by name, and not a pattern", () => {
  assert.equal(whyOf(modelsView, "suspend", context, "acme-large"), undefined);
  assert.match(whyOf(modelsView, "suspend", context, "fast", "acme-*") ?? "", /^acme-\* is a pattern/);
  const byDefault = contextOf({ list_models: [model("*", "p", { kind: "default" })] });
  assert.match(whyOf(modelsView, "suspend", byDefault, "*") ?? "", /^\* is a pattern/);
  assert.deepEqual(requestsOf(dialogOf(startOf(modelsView, "suspend", context, "acme-large")), context), [
    'PUT /admin/v1/suspensions/model:acme-large {"reason":"console: incident","duration":"30m"}',
  ]);
});

test("u lifts a model's suspension, or says why not", () => {
  assert.equal(whyOf(modelsView, "lift", context, "fast"), "fast is not suspended");
  const off = contextOf({ ...INCIDENT, list_suspensions: [suspension("fast", { kind: "model" })] });
  assert.equal(whyOf(modelsView, "lift", off, "fast"), undefined);
  assert.deepEqual(requestsOf(dialogOf(startOf(modelsView, "lift", off, "fast")), off), [
    "DELETE /admin/v1/suspensions/model:fast",
  ]);
});

test("f goes to the provider of the row", () => {
  assert.deepEqual(startOf(modelsView, "follow", context, "fast"), {
    kind: "go",
    place: { view: "providers" },
    row: "acme-alt",
  });
  assert.equal(whyOf(modelsView, "follow", context, "fast"), undefined);
  assert.equal(whyOf(modelsView, "follow", context, "gone"), "the model no longer exists");
});

test("without models the view says what that means", () => {
  assert.deepEqual(idsShown(modelsView, contextOf({ list_models: [] })), []);
  assert.equal(body.empty(contextOf({})).sentence, "No model is routed: every request is refused.");
});
