/**
 * Every route passes the one chain: without a credential no route reaches a provider, and each answers only the
 * refusal. Source: issue "every route", lesson P8; design decisions, sections 2, 6 and 7.
 */
import assert from "node:assert/strict";
import { once } from "node:events";
import { after, test } from "node:test";
import { WebSocket } from "ws";
import { routeExamples } from "../../../src/server/core/dialects/index.ts";
import { chat, mint, say, startGoverned } from "./support/governed.ts";

const file = { after };
const { simulator, node, gateway } = await startGoverned(file, {
  deployment: {
    public_url: "https://models.example.com",
    profiles: [
      { name: "limited", allowed_models: ["sim-small"] },
      { name: "metered", budget: "small" },
      { name: "shut", access_rules: [{ name: "nothing", at: ["llm"], condition: "true", action: "deny" }] },
    ],
    budgets: [{ name: "small", limit: 0, shared: true }],
  },
});
const limited = await mint(node, "limited", { profile: "limited" });
const metered = await mint(node, "metered", { profile: "metered" });
const shut = await mint(node, "shut", { profile: "shut" });
const examples = routeExamples();

async function knock(method: string, path: string, key?: string): Promise<number> {
  if (method !== "UPGRADE")
    return (await say(gateway, { method, path, key, headers: { "anthropic-version": "2023-06-01" } })).status;
  const headers = key === undefined ? {} : { authorization: `Bearer ${key}` };
  const socket = new WebSocket(gateway.url.replace("http", "ws") + path, { headers });
  socket.on("error", () => undefined);
  const [, response] = (await once(socket, "unexpected-response")) as [unknown, { statusCode: number }];
  socket.terminate();
  return response.statusCode;
}

test("there are routes to test", () => {
  assert.ok(examples.length > 40);
  assert.ok(examples.some(({ method }) => method === "UPGRADE"));
});

for (const { method, path, name } of examples) {
  test(`${method} ${path} (${name}) is refused without a credential, by a rule and for a spent budget, before a provider is asked`, async () => {
    const before = simulator.counts().requests;
    assert.equal(await knock(method, path), 401);
    assert.equal(await knock(method, path, "gwk_not-a-key"), 401);
    assert.ok([400, 403].includes(await knock(method, path, shut)), "a rule that denies everything");
    assert.equal(simulator.counts().requests, before);
  });
}

test("only what is needed to obtain tokens is readable without a credential", async () => {
  const { status, text } = await say(gateway, { method: "GET", path: "/.well-known/oauth-protected-resource" });
  assert.equal(status, 200);
  assert.equal((JSON.parse(text) as { resource: string }).resource, "https://models.example.com");
  for (const path of ["/", "/healthz", "/metrics", "/admin/v1/keys", "/.well-known/anything"]) {
    assert.equal((await say(gateway, { method: "GET", path })).status, 404, path);
  }
});

test("routes that hide models or return credentials are closed to callers whose profile limits models", async () => {
  for (const key of [limited, metered]) {
    for (const path of [
      "/v1/batches",
      "/v1/messages/batches",
      "/v1/realtime/client_secrets",
      "/v1/realtime/sessions",
    ]) {
      const { status, code, headers } = await say(gateway, { key, path, body: { model: "sim-1", requests: [] } });
      assert.deepEqual([path, status, code ?? "policy_denied"], [path, 403, "policy_denied"]);
      assert.equal(headers.get("x-should-retry"), "false");
    }
  }
});

test("a spent budget refuses metered requests, says until when, and leaves other routes open", async () => {
  const refused = await say(gateway, { key: metered });
  assert.deepEqual([refused.status, refused.code], [429, "budget_exhausted"]);
  const seconds = Number(refused.headers.get("retry-after"));
  assert.ok(seconds > 0 && seconds <= 86_400, `retry-after: ${seconds}`);
  assert.equal(refused.headers.get("x-should-retry"), "false");
  assert.equal((await say(gateway, { key: metered, method: "GET", path: "/v1/models" })).status, 200);
});

test("a limit of 0 refuses requests without a maximum output too: a spent quota to compat clients, a rate limit to others", async () => {
  const request = { model: "sim-1", input: "hi" };
  const cases = [
    ["/v1/chat/completions", "insufficient_quota", chat()],
    ["/v1/responses", "insufficient_quota", request],
    ["/v1/embeddings", "insufficient_quota", request],
    ["/v1/messages", "rate_limit_error", chat()],
  ] as const;
  for (const [path, type, body] of cases) {
    for (const stream of [false, true]) {
      const { status, text } = await say(gateway, { key: metered, path, body: { ...body, stream } });
      const { error } = JSON.parse(text) as { error: { type: string; code: string; message: string } };
      assert.deepEqual([path, status, error.type, error.code], [path, 429, type, "budget_exhausted"]);
      assert.equal(error.message, "Budget small allows no requests: its limit is 0.");
    }
  }
});

test("a caller is shown the models that its profile allows and refused the others", async () => {
  const { status, text } = await say(gateway, { key: limited, method: "GET", path: "/v1/models" });
  assert.equal(status, 200);
  assert.deepEqual(
    (JSON.parse(text) as { data: { id: string }[] }).data.map(({ id }) => id),
    ["sim-small"],
  );
  assert.equal((await say(gateway, { key: limited, body: chat({ model: "sim-small" }) })).status, 200);
  const other = await say(gateway, { key: limited, body: { model: "sim-2", messages: [] } });
  assert.deepEqual([other.status, other.code], [403, "model_not_allowed"]);
});
