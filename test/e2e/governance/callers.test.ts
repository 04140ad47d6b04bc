// tier: test
/**
 * Accepted callers and credentials, and what a refusal discloses. Source: specification document 1 (Authentication,
 * data plane); design decisions, sections 1 and 2; lessons P22, P30, P31.
 */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { startIssuer } from "../admin/support/issuer.ts";
import { recordsIn } from "../admin/support/trail.ts";
import { rawClient } from "../support/raw.ts";
import { eventually, within } from "../support/wait.ts";
import { mint, PROVIDER_KEY, say, startGoverned } from "./support/governed.ts";

const file = { after };
const issuer = await startIssuer(file);
const otherIssuer = await startIssuer(file);
const PUBLIC_URL = "https://models.example.com";
const { simulator, node, gateway } = await startGoverned(file, {
  changes: { issuers: [{ name: "corp", url: issuer.url }] },
  auth: {
    issuers: [
      {
        issuer: "corp",
        audience: "models",
        subject: "user",
        profile: "everybody",
        profiles: { claim: "groups", select: [{ value: "research", profile: "research" }] },
      },
    ],
  },
  deployment: {
    public_url: PUBLIC_URL,
    // Nothing listens there: only the authentication of calls is tested.
    mcp: ["tools", "others"].map((name) => ({ name, url: `http://127.0.0.1:1/${name}` })),
    profiles: [
      { name: "everybody", allowed_models: ["sim-1"] },
      { name: "research", allowed_models: ["sim-*"] },
    ],
    access_rules: [
      {
        name: "not-mallory",
        at: ["llm"],
        condition: 'user.subject == "mallory" && agent.name == "app-7"',
        action: "deny",
      },
    ],
  },
});
const key = await mint(node, "ci");
const token = (claims: Parameters<typeof issuer.token>[0] = {}) => issuer.token({ aud: "models", ...claims });

test("a virtual key is accepted in each of its places and never reaches the provider", async () => {
  const places = [
    { authorization: `Bearer ${key}` },
    { authorization: `bearer ${key}` },
    { "x-api-key": key },
    { "api-key": key },
  ];
  for (const headers of places) {
    assert.equal((await say(gateway, { headers })).status, 200, Object.keys(headers).join());
  }
  // The simulator accepts only the provider's credential.
  assert.ok(PROVIDER_KEY !== key);
  assert.equal(simulator.counts().answered, places.length);
});

test("the first credential present decides", async () => {
  const both = await say(gateway, { headers: { authorization: "Bearer nothing", "x-api-key": key } });
  assert.equal(both.status, 401);
  assert.equal(
    (await say(gateway, { headers: { authorization: `Bearer ${key}`, "x-api-key": "nothing" } })).status,
    200,
  );
  const basic = await say(gateway, { headers: { authorization: "Basic Z3c6a2V5" } });
  assert.deepEqual([basic.status, basic.headers.get("x-should-retry")], [401, "false"]);
});

test("a client that sends Expect: 100-continue is authorized first and gets only the final answer if it is refused", async () => {
  const chat = '{"model":"sim-1","messages":[{"role":"user","content":"x"}]}';
  const waiting = async (headers: string, path = "/v1/chat/completions", body = "") => {
    const client = await rawClient(file, gateway.port);
    client.send(
      `POST ${path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n${headers}\r\n\r\n${body}`,
    );
    return client;
  };
  const length = `Content-Length: ${chat.length}`;
  const EXPECT = "Expect: 100-continue\r\n";
  const mine = `Authorization: Bearer ${key}\r\n`;
  const before = simulator.counts().requests;
  for (const [status, headers, path, body] of [
    [401, EXPECT + length],
    [401, `expect: 100-Continue\r\n${length}`],
    [401, `${EXPECT}Authorization: Bearer nothing\r\n${length}`],
    [401, `${EXPECT}Transfer-Encoding: chunked`],
    [401, EXPECT + length, "/v1/messages"],
    [401, EXPECT + length, "/mcp/tools"],
    [401, EXPECT + length, "/v1/files"],
    [404, EXPECT + mine + length, "/nowhere"],
    [413, `${EXPECT}${mine}Content-Length: 99999999`],
    // This client sends its body without waiting.
    [401, EXPECT + length, "/v1/chat/completions", chat],
    [413, `${EXPECT}${mine}Content-Length: 99999999`, "/v1/chat/completions", chat],
  ] as const) {
    const client = await waiting(headers, path, body);
    assert.equal((await client.answer()).status, status, `${path} ${headers}`);
    await within("the end of the connection", client.closed);
    assert.doesNotMatch(client.received().toString("latin1"), /HTTP\/1\.1 100/);
  }
  assert.equal(simulator.counts().requests, before);
  const welcome = await waiting(EXPECT + mine + length);
  assert.equal((await welcome.answer()).status, 100);
  welcome.send(chat);
  assert.equal((await welcome.answer()).status, 200);
  // The connection can serve another request, which has no body.
  welcome.send(`GET /v1/models HTTP/1.1\r\nHost: x\r\n${EXPECT}${mine}\r\n`);
  assert.equal((await welcome.answer()).status, 200);
  welcome.socket.destroy();
});

test("a token for the data plane's audience is accepted, and its claims choose the profile", async () => {
  const plain = await token();
  assert.equal((await say(gateway, { key: plain })).status, 200);
  assert.equal(
    (await say(gateway, { key: plain, body: { model: "sim-2", messages: [{ role: "user", content: "x" }] } })).code,
    "model_not_allowed",
  );
  const research = await token({ groups: ["other", "research"] });
  assert.equal(
    (await say(gateway, { key: research, body: { model: "sim-2", messages: [{ role: "user", content: "x" }] } }))
      .status,
    200,
  );
});

test("rules can read the person and the application of a token", async () => {
  assert.equal((await say(gateway, { key: await token({ sub: "mallory", azp: "app-7" }) })).code, "policy_denied");
  assert.equal((await say(gateway, { key: await token({ sub: "mallory", client_id: "app-8" }) })).status, 200);
});

test("a token for an MCP server is accepted at that server alone", async () => {
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" });
  const credential = await token({ aud: `${PUBLIC_URL}/mcp/tools` });
  const statusOf = async (server: string) => {
    const headers = { authorization: `Bearer ${credential}`, "content-type": "application/json" };
    return (await fetch(`${gateway.url}/mcp/${server}`, { method: "POST", headers, body })).status;
  };
  assert.notEqual(await statusOf("tools"), 401);
  assert.equal(await statusOf("others"), 401);
});

test("a token for the gateway's own audience is accepted here, and one for an MCP server is not", async () => {
  for (const aud of [PUBLIC_URL, `${PUBLIC_URL}/`, ["else", PUBLIC_URL]]) {
    assert.equal((await say(gateway, { key: await token({ aud }) })).status, 200, String(aud));
  }
  assert.equal((await say(gateway, { key: await token({ aud: `${PUBLIC_URL}/mcp/files` }) })).status, 401);
});

test("refusals are identical except for the request id, and disclose nothing about the credential", async () => {
  const expired = await mint(node, "expired", { expires_in: "1ms" });
  const now = Math.floor(Date.now() / 1_000);
  const bad: Readonly<Record<string, string | undefined>> = {
    nothing: undefined,
    "an unknown key": key.replace(/^gwk_.{8}/, "gwk_AAAAAAAA"),
    "an expired key": expired,
    "a key with another secret": `${key.slice(0, 20)}${key.slice(20).split("").reverse().join("")}`,
    "a malformed key": "gwk_short",
    "any text": "sk-whatever",
    "an expired token": await token({ exp: now - 600, iat: now - 1_200 }),
    "a token for the admin plane": await token({ aud: "gateway-admin" }),
    "a token of a stranger": await otherIssuer.token({ aud: "models" }),
    "an unsigned token": issuer.unsigned(),
    "an address that is not verified": await token({ email_verified: false }),
  };
  const texts = new Map<string, string>();
  for (const [what, credential] of Object.entries(bad)) {
    const answer = await say(gateway, {
      method: "GET",
      path: "/v1/models",
      key: credential,
      headers: { "x-request-id": "the-same" },
    });
    assert.equal(answer.status, 401, what);
    const headers = [...answer.headers].filter(([name]) => name !== "date").map(([name, value]) => `${name}: ${value}`);
    texts.set(what, `${headers.join("\n")}\n${answer.text}`);
    if (credential !== undefined) assert.ok(!answer.text.includes(credential.slice(-12)), what);
  }
  assert.deepEqual([...new Set(texts.values())], [texts.get("nothing")]);
  assert.match(texts.get("nothing") ?? "", /www-authenticate: Bearer realm="gateway", resource_metadata="https:/);
  await eventually("a record of a failure", () =>
    recordsIn(node.output()).some(({ event, data }) => event === "auth.failure" && data["plane"] === "data"),
  );
  for (const credential of [key, expired, await token()]) assert.ok(!node.output().includes(credential.slice(-20)));
});

test("two tokens with the same beginning are two callers", async () => {
  const research = await token({ groups: ["research"] });
  const [head = "", , signature = ""] = research.split(".");
  const forged = `${head}.${Buffer.from(JSON.stringify({ iss: issuer.url, aud: "models", sub: "root" })).toString("base64url")}.${signature}`;
  assert.equal((await say(gateway, { key: research })).status, 200);
  assert.equal((await say(gateway, { key: forged })).status, 401);
  assert.equal((await say(gateway, { key: `${research.slice(0, -4)}AAAA` })).status, 401);
});
