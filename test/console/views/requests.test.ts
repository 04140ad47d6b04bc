import assert from "node:assert/strict";
import test from "node:test";
import type { RequestRecord } from "../../../src/admin-api/index.ts";
import { keysView } from "../../../src/console/views/keys.ts";
import { mcpView } from "../../../src/console/views/mcp.ts";
import { modelsView } from "../../../src/console/views/models.ts";
import { providersView } from "../../../src/console/views/providers.ts";
import { requestsView } from "../../../src/console/views/requests.ts";
import { at, contextOf, idsShown, rowsShown, startOf, whyOf } from "./traffic-fixtures.ts";

const request = (more: Partial<RequestRecord>): RequestRecord => ({
  time: at(-30),
  id: "r-1",
  caller: "ci",
  profile: "staff",
  hop: "llm",
  route: "chat_completions",
  model: "m-1",
  provider: "acme",
  status: 200,
  code: null,
  attempts: 1,
  ttfb_ms: 12,
  total_ms: 1_340,
  input_tokens: 1_200,
  output_tokens: 40,
  decided_by: null,
  node: "n1",
  ...more,
});

const REQUESTS = [
  request({}),
  request({ id: "r-2", time: at(-20), status: 503, provider: "acme-alt" }),
  request({ id: "r-3", time: at(-10), hop: "mcp", route: "tools/call", model: null, provider: "tickets" }),
  request({ id: "r-4", time: at(-5), hop: null, route: null, provider: null, model: null, status: 404 }),
  request({ id: "r-2", time: at(-5), code: "budget_exhausted", status: 429, decided_by: "budget day", ttfb_ms: null }),
];
const context = contextOf({ list_requests: REQUESTS });

test("requests are newest first, with upstream and outcome", () => {
  assert.deepEqual(
    rowsShown(requestsView, context).map((cells) => cells.slice(1, 6)),
    [
      ["ci", "-", "-", "404", "-"],
      ["ci", "m-1", "acme", "429", "budget_exhausted"],
      ["ci", "-", "tickets", "200", "-"],
      ["ci", "m-1", "acme-alt", "503", "-"],
      ["ci", "m-1", "acme", "200", "-"],
    ],
  );
  assert.equal(new Set(idsShown(requestsView, context)).size, REQUESTS.length);
});

test("f goes to the upstream of the request", () => {
  const [nowhere = "", refused = "", tool = ""] = idsShown(requestsView, context);
  assert.equal(whyOf(requestsView, "follow", context, nowhere), "it reached no provider");
  const went = [refused, tool].map((id) => startOf(requestsView, "follow", context, id));
  assert.deepEqual(went, [
    { kind: "go", place: { view: "providers" }, row: "acme" },
    { kind: "go", place: { view: "mcp" }, row: "tickets" },
  ]);
});

test("rows of providers, models, keys and servers lead to their own requests", () => {
  const views = [providersView, modelsView, keysView, mcpView] as const;
  assert.deepEqual(
    views.map((view) => startOf(view, "requests", context, "acme")),
    ["provider=acme,", "model=acme,", "caller=acme,", "provider=acme,"].map((filter) => ({
      kind: "go",
      place: { view: "requests" },
      filter,
    })),
  );
});
