/**
 * The registry of fronted servers and the source of their tokens, through a running gateway. Source: specification
 * document 3 (`mcp[].registry`); mcp-registry reference; mcp reference, 12; design decisions, section 7.
 */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { mint, startGoverned } from "../governance/support/governed.ts";
import type { Document } from "../support/config.ts";
import { readMetrics, sumOf } from "../support/metrics.ts";
import { eventually } from "../support/wait.ts";

const file = { after };
const PUBLIC_URL = "https://gw.example.com";
const UPSTREAM = "http://10.99.0.4:7000";

const server = (name: string, facts: Document = {}): Document => ({
  name,
  url: `${UPSTREAM}/${name}/rpc`,
  api_key: `key-of-${name}`,
  registry: { name: `com.example/${name}`, description: `About ${name}.` },
  ...facts,
});

const deployment = (facts: Document = {}): Document => ({
  version: 1,
  public_url: `${PUBLIC_URL}/`,
  mcp: [server("tools"), server("hidden"), server("partly"), server("unlisted", { registry: undefined })],
  profiles: [{ name: "narrow", access_rules: [{ name: "none", at: ["mcp"], condition: "true", action: "deny" }] }],
  access_rules: [
    { name: "no-hidden", at: ["mcp"], condition: 'server == "hidden" && key.name != "admin"', action: "deny" },
    { name: "one-tool", at: ["mcp"], condition: 'server == "partly" && name != "find"', action: "deny" },
  ],
  ...facts,
});

const { node, gateway } = await startGoverned(file, { deployment: deployment() });
const key = await mint(node, "plain");

interface Listed {
  readonly servers: readonly {
    readonly server: { readonly name: string; readonly remotes: readonly { readonly url: string }[] };
    readonly _meta: Readonly<Record<string, { readonly updatedAt: string }>>;
  }[];
  readonly metadata: { readonly count: number; readonly nextCursor?: string };
}

const get = (path: string, headers: Readonly<Record<string, string>> = {}, method = "GET", credential = key) =>
  fetch(`${gateway.url}/registry/v0.1${path}`, {
    method,
    headers: { authorization: `Bearer ${credential}`, ...headers },
  });

async function listed(query = "", credential = key): Promise<Listed> {
  const answer = await get(`/servers${query}`, {}, "GET", credential);
  assert.equal(answer.status, 200);
  return (await answer.json()) as Listed;
}

const names = ({ servers }: Listed) => servers.map(({ server: one }) => one.name);

test("a caller sees the servers that it may reach, at the gateway's address alone", async () => {
  const all = await listed("?limit=50&version=latest");
  assert.deepEqual(names(all), ["com.example/partly", "com.example/tools"]);
  assert.deepEqual(all.servers[1]?.server.remotes, [
    { type: "streamable-http", url: `${PUBLIC_URL}/mcp/com.example/tools` },
  ]);
  assert.doesNotMatch(JSON.stringify(all), /10\.99|key-of|unlisted/);
  assert.deepEqual(names(await listed("", await mint(node, "admin"))), [
    "com.example/hidden",
    "com.example/partly",
    "com.example/tools",
  ]);
  assert.deepEqual(names(await listed("", await mint(node, "narrow", { profile: "narrow" }))), []);
  assert.equal((await get("/servers/com.example%2Ftools/versions/latest")).status, 200);
  const hidden = await get("/servers/com.example%2Fhidden/versions/latest");
  const unknown = await get("/servers/com.example%2Fnobody/versions/latest");
  assert.deepEqual([hidden.status, await hidden.text()], [unknown.status, await unknown.text()]);
  assert.equal(unknown.status, 404);
});

test("pages are followed by their unencoded cursors to the end", async () => {
  const first = await listed("?limit=1");
  assert.equal(first.metadata.count, 1);
  assert.deepEqual(names(await listed(`?limit=1&cursor=${first.metadata.nextCursor}`)), ["com.example/tools"]);
});

test("the modification time of an entry is when its source was stored", async () => {
  const [stored] = (await node.client.call("list_sources")).items;
  const [first] = (await listed()).servers;
  const { updatedAt = "" } = first?._meta["io.modelcontextprotocol.registry/official"] ?? {};
  assert.equal(updatedAt, stored?.updated_at);
  assert.deepEqual(names(await listed(`?updated_since=${updatedAt}`)).length, 2);
  const later = new Date(Date.parse(updatedAt) + 1).toISOString();
  assert.deepEqual(names(await listed(`?updated_since=${later}`)), []);
});

test("the registry needs a credential, and a browser's preflight does not", async () => {
  const cors = (answer: Response) => [
    answer.headers.get("access-control-allow-origin"),
    answer.headers.get("access-control-allow-methods"),
    answer.headers.get("access-control-allow-headers"),
  ];
  const EXPECTED = ["*", "GET, OPTIONS", "Authorization, Content-Type"];
  const without = await fetch(`${gateway.url}/registry/v0.1/servers`);
  assert.equal(without.status, 401);
  assert.deepEqual(cors(without), EXPECTED);
  assert.doesNotMatch(await without.text(), /tools/);
  const preflight = await fetch(`${gateway.url}/registry/v0.1/servers`, {
    method: "OPTIONS",
    headers: { origin: "https://elsewhere.example", "access-control-request-method": "GET" },
  });
  assert.deepEqual([preflight.status, await preflight.text()], [204, ""]);
  assert.deepEqual(cors(preflight), EXPECTED);
  assert.deepEqual(cors(await get("/servers")), EXPECTED);
});

test("a client with a current copy gets 304; HEAD has no body; writes are refused", async () => {
  const first = await get("/servers");
  const etag = first.headers.get("etag") ?? "";
  assert.equal(first.headers.get("cache-control"), "private, no-cache");
  const again = await get("/servers", { "if-none-match": `"other", W/${etag}` });
  assert.deepEqual([again.status, again.headers.get("etag"), await again.text()], [304, etag, ""]);
  assert.equal((await get("/servers", { "if-none-match": '"other"' })).status, 200);
  const head = await get("/servers", {}, "HEAD");
  assert.deepEqual(
    [head.status, head.headers.get("content-length"), await head.text()],
    [200, String((await first.text()).length), ""],
  );
  const posted = await fetch(`${gateway.url}/registry/v0.1/publish`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}` },
    body: "x".repeat(100_000),
  });
  assert.equal(posted.status, 501);
  assert.match(posted.headers.get("content-type") ?? "", /problem\+json/);
});

test("requests are counted under the registry's label", async () => {
  await eventually("the counters", async () => {
    const metrics = await readMetrics(gateway);
    const counted = sumOf(metrics, "gateway_requests_total", { route: "registry", status: "200" });
    return counted > 0 && sumOf(metrics, "gateway_requests_total", { route: "registry", code: "not_found" }) >= 2;
  });
});

test("each server publishes where its tokens come from, under both names, and its 401 points there", async () => {
  const metadata = (path: string) => fetch(`${gateway.url}/.well-known/oauth-protected-resource${path}`);
  for (const [path, name] of [
    ["/mcp/tools", "tools"],
    ["/mcp/com.example/tools", "com.example/tools"],
    ["/mcp/com.example%2Ftools", "com.example/tools"],
    ["/mcp/tools/", "tools"],
  ] as const) {
    const answer = await metadata(path);
    assert.equal(answer.status, 200, path);
    const { resource } = (await answer.json()) as { readonly resource: string };
    assert.equal(resource, `${PUBLIC_URL}/mcp/${name}`);
  }
  for (const path of ["/mcp/nobody", "/mcp/", "/mcp/%zz", "/a2a/tools"]) {
    assert.equal((await metadata(path)).status, 404, path);
  }
  for (const name of ["tools", "com.example/tools"]) {
    const refused = await fetch(`${gateway.url}/mcp/${name}`, { method: "POST", body: "{}" });
    assert.equal(refused.status, 401);
    assert.equal(
      refused.headers.get("www-authenticate"),
      `Bearer realm="gateway", resource_metadata="${PUBLIC_URL}/.well-known/oauth-protected-resource/mcp/${name}"`,
    );
  }
  const unknown = await fetch(`${gateway.url}/mcp/nobody`, { method: "POST", body: "{}" });
  assert.match(unknown.headers.get("www-authenticate") ?? "", /oauth-protected-resource"$/);
});

test("a suspended server stays listed; without `public_url` the registry says what is missing", async () => {
  await node.client.call("put_suspension", { params: { kind: "mcp", name: "tools" }, body: { reason: "looked at" } });
  assert.deepEqual(names(await listed()), ["com.example/partly", "com.example/tools"]);
  await node.writeDeployment(deployment({ version: 2, public_url: undefined }));
  await node.client.call("reload_config");
  const answer = await eventually("the new configuration", async () => {
    const found = await get("/servers");
    return found.status === 503 ? found : undefined;
  });
  assert.match(await answer.text(), /public_url/);
  assert.equal(answer.headers.get("access-control-allow-origin"), "*");
  assert.equal((await fetch(`${gateway.url}/.well-known/oauth-protected-resource/mcp/tools`)).status, 404);
});
