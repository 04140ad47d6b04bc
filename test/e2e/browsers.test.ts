/**
 * Requests of pages of other origins, in the form that browsers send them. Source: design decisions, section 20
 * (Browsers). `browsers-chromium.test.ts` does the same in a real browser.
 */
import assert from "node:assert/strict";
import { request as dial, type IncomingHttpHeaders, type IncomingMessage } from "node:http";
import { after, test } from "node:test";
import { WebSocket } from "ws";
import { createNodes, led } from "./config/support/nodes.ts";
import { mint, PROVIDER_KEY, startGoverned } from "./governance/support/governed.ts";
import { startWithFiles, twoDialects } from "./support/config.ts";
import { type Gateway, ONE_PROCESS, startWithFlags } from "./support/gateway.ts";
import { simulated } from "./support/simulated.ts";
import { reply, scriptedUpstream } from "./support/upstream.ts";
import { within } from "./support/wait.ts";

const file = { after };
const PAGE = "https://app.example";
const LOCAL_PAGE = "http://localhost:5173";
const EXTENSION = "chrome-extension://abcdef";

const provider = await simulated(file, { requireKey: PROVIDER_KEY });
/** This upstream allows every page to read it, with credentials. */
const permissive = await scriptedUpstream(file, (socket) =>
  reply(socket, {
    headers: [
      "Content-Type: application/json",
      "Access-Control-Allow-Origin: https://evil.example",
      "access-control-allow-credentials: true",
      "Access-Control-Expose-Headers: x-secret",
      "x-secret: 1",
    ],
  }),
);
const deployment = {
  public_url: "https://models.corp.example",
  catalog_overlays: [twoDialects("simulator", provider.url)],
  providers: [
    { preset: "simulator", api_key: PROVIDER_KEY, models: ["sim-*"] },
    { name: "permissive", dialect: "compat", base_url: `${permissive.url}/v1`, api_key: "k", models: ["loose"] },
  ],
  mcp: [{ name: "tools", url: `${permissive.url}/rpc`, registry: { name: "com.example/tools", description: "T." } }],
  a2a: [{ name: "agent", url: `${permissive.url}/a2a` }],
};
const governed = await startGoverned(file, { env: ONE_PROCESS, deployment });
const key = await mint(governed.node, "page");
const open = await startWithFiles(file, deployment, {}, ONE_PROCESS);
const narrowed = { ...ONE_PROCESS, GATEWAY_CORS_ORIGINS: `${PAGE}, ${EXTENSION}` };
const listed = { open: await startWithFiles(file, deployment, {}, narrowed), closed: await closedListed() };
const flags = await startWithFlags(file, { upstream: permissive.url });

async function closedListed(): Promise<{ readonly gateway: Gateway; readonly key: string }> {
  const [node] = await createNodes(file, { ids: ["n2"], deployment: { auth: { virtual_keys: true }, ...deployment } });
  assert.ok(node);
  const gateway = await node.start(narrowed);
  await led(node);
  return { gateway, key: await mint(node, "page") };
}

interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  /** Code of the gateway's own refusal, in any format. */
  readonly code: string | undefined;
}

type Sent = Readonly<Record<string, string>>;

function ask(to: Pick<Gateway, "url">, method: string, path: string, headers: Sent, body = ""): Promise<Answer> {
  return within(
    `the answer to ${method} ${path}`,
    new Promise<Answer>((done, failed) => {
      const request = dial(new URL(path, to.url), { method, headers }, (response: IncomingMessage) => {
        let text = "";
        response.setEncoding("utf8").on("data", (chunk: string) => {
          text += chunk;
        });
        response.on("end", () =>
          done({ status: response.statusCode ?? 0, headers: response.headers, text, code: codeOf(text) }),
        );
      });
      request.on("error", failed);
      request.end(body);
    }),
  );
}

const codeOf = (text: string): string | undefined =>
  /"(?:code|error_code)":\s*"([a-z_]+)"/.exec(text)?.[1] ?? /"data":.*"code":\s*"([a-z_]+)"/.exec(text)?.[1];

const CHAT = JSON.stringify({ model: "sim-1", messages: [{ role: "user", content: "hello there" }] });
const STREAM = JSON.stringify({ model: "sim-1", stream: true, messages: [{ role: "user", content: "hello there" }] });
const MESSAGE = JSON.stringify({ model: "sim-1", max_tokens: 9, messages: [{ role: "user", content: "hello there" }] });
const LOOSE = JSON.stringify({ model: "loose", messages: [{ role: "user", content: "hello there" }] });
const RPC = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list" });

interface Route {
  readonly method: string;
  readonly path: string;
  readonly body?: string;
  /** Status with the key, from an allowed page. */
  readonly status: number;
}

const ROUTES: readonly Route[] = [
  { method: "POST", path: "/v1/chat/completions", body: CHAT, status: 200 },
  { method: "POST", path: "/v1/chat/completions", body: STREAM, status: 200 },
  { method: "POST", path: "/v1/chat/completions", body: LOOSE, status: 200 },
  { method: "POST", path: "/v1/chat/completions", body: "{", status: 400 },
  { method: "POST", path: "/v1/messages", body: MESSAGE, status: 200 },
  { method: "POST", path: "/v1/responses", body: JSON.stringify({ model: "sim-1", input: "hi" }), status: 200 },
  { method: "GET", path: "/v1/models", status: 200 },
  { method: "GET", path: "/v1/models/sim-small", status: 200 },
  { method: "POST", path: "/v1/embeddings", body: JSON.stringify({ model: "sim-1", input: "a" }), status: 200 },
  { method: "GET", path: "/nowhere", status: 404 },
  { method: "POST", path: "/mcp/nobody", body: RPC, status: 404 },
  { method: "GET", path: "/registry/v0.1/servers", status: 200 },
  { method: "GET", path: "/.well-known/oauth-protected-resource", status: 200 },
  { method: "GET", path: "/.well-known/nothing", status: 404 },
  { method: "GET", path: "/a2a/nobody/.well-known/agent-card.json", status: 404 },
];

const preflightOf = (method: string, origin: string, more: Sent = {}): Sent => ({
  origin,
  "access-control-request-method": method,
  "access-control-request-headers": "authorization,content-type,x-stainless-os",
  ...more,
});
const bearer = (of: string, origin: string, more: Sent = {}): Sent => ({
  origin,
  authorization: `Bearer ${of}`,
  "content-type": "application/json",
  "anthropic-version": "2023-06-01",
  ...more,
});
const originOf = ({ headers }: Answer): string | undefined => headers["access-control-allow-origin"];

for (const { method, path, body = "", status } of ROUTES) {
  const what = `${method} ${path} ${body.slice(0, 40)}`;

  test(`with \`auth\` a preflight of ${what} is answered without a credential, and the page can read the answer`, async () => {
    for (const origin of [PAGE, LOCAL_PAGE, "null"]) {
      const before = await ask(governed.gateway, "OPTIONS", path, preflightOf(method, origin));
      assert.deepEqual([before.status, before.text, originOf(before)], [204, "", "*"]);
      assert.ok(before.headers["access-control-allow-methods"]?.split(", ").includes(method));
      assert.equal(before.headers["access-control-allow-headers"], "authorization,content-type,x-stainless-os");
      assert.equal(before.headers["access-control-max-age"], "600");
      assert.equal(before.headers["access-control-allow-private-network"], undefined);
      assert.ok(before.headers["x-gateway-request-id"]);
    }
    // The origin rule of `/mcp` applies in addition.
    const origin = path.startsWith("/mcp/") || path.startsWith("/a2a/") ? LOCAL_PAGE : PAGE;
    const answer = await ask(governed.gateway, method, path, bearer(key, origin), body);
    assert.deepEqual([answer.status, originOf(answer)], [status, "*"], answer.text);
    for (const name of ["x-gateway-request-id", "retry-after", "x-gateway-provider"]) {
      assert.ok(answer.headers["access-control-expose-headers"]?.split(", ").includes(name), name);
    }
    assert.equal(answer.headers["access-control-allow-credentials"], undefined);
    assert.doesNotMatch(answer.headers["access-control-expose-headers"] ?? "", /x-secret/);
    const wrong = await ask(governed.gateway, method, path, bearer("wrong", origin), body);
    assert.equal(originOf(wrong), "*");
  });

  test(`without \`auth\` ${what} is refused to a page of another origin and answered to a page of this machine`, async () => {
    const counted = provider.counts().requests + permissive.requests.length;
    const foreign: readonly Sent[] = [
      { origin: PAGE, "content-type": "application/json" },
      { origin: PAGE, "content-type": "text/plain" },
      { origin: PAGE, "sec-fetch-site": "same-origin" },
      { origin: "null" },
      { "sec-fetch-site": "cross-site" },
      { "sec-fetch-site": "cross-site", origin: PAGE, authorization: "Bearer x" },
      { origin: EXTENSION },
    ];
    for (const headers of foreign) {
      const refused = await ask(open, method, path, headers, body);
      assert.deepEqual([refused.status, refused.code], [403, "origin_not_allowed"], JSON.stringify(headers));
      assert.equal(originOf(refused), undefined);
      assert.equal(refused.headers["x-should-retry"], "false");
      assert.match(refused.text, /GATEWAY_CORS_ORIGINS/);
    }
    const before = await ask(open, "OPTIONS", path, preflightOf(method, PAGE));
    assert.deepEqual([before.status, originOf(before)], [403, undefined]);
    assert.equal(provider.counts().requests + permissive.requests.length, counted, "nothing went upstream");
    const near = await ask(open, "OPTIONS", path, preflightOf(method, LOCAL_PAGE));
    assert.deepEqual([near.status, originOf(near)], [204, LOCAL_PAGE]);
    const answer = await ask(open, method, path, { origin: LOCAL_PAGE, "content-type": "application/json" }, body);
    assert.notEqual(answer.code, "origin_not_allowed");
    assert.equal(originOf(answer), LOCAL_PAGE);
    assert.match(answer.headers.vary ?? "", /Origin/);
    const plain = await ask(open, method, path, { "content-type": "application/json" }, body);
    assert.equal(plain.status, answer.status);
  });
}

test("GATEWAY_CORS_ORIGINS narrows the allowed origins with `auth` and widens them without it", async () => {
  const { gateway, key: own } = listed.closed;
  const requestFrom = (origin: string) =>
    ask(gateway, "POST", "/v1/chat/completions", bearer(own, origin), LOOSE).then((it) => [it.status, originOf(it)]);
  assert.deepEqual(await requestFrom(PAGE), [200, PAGE]);
  assert.deepEqual(await requestFrom(EXTENSION), [200, EXTENSION]);
  assert.deepEqual(
    await requestFrom("https://evil.example"),
    [200, undefined],
    "the provider's own leave is not passed on",
  );
  const unlisted = await ask(gateway, "OPTIONS", "/v1/chat/completions", preflightOf("POST", LOCAL_PAGE));
  assert.deepEqual([unlisted.status, originOf(unlisted)], [204, undefined]);
  for (const [origin, status] of [
    [PAGE, 200],
    [EXTENSION, 200],
    [LOCAL_PAGE, 200],
    ["https://evil.example", 403],
    ["https://app.example:8443", 403],
  ] as const) {
    const { status: found } = await ask(listed.open, "POST", "/v1/chat/completions", { origin }, CHAT);
    assert.equal(found, status, origin);
  }
  // This includes servers and agents, since the operator named the page.
  const call = await ask(listed.open, "POST", "/mcp/tools", { origin: PAGE }, RPC);
  assert.notEqual(call.status, 403);
  assert.equal(originOf(call), PAGE);
});

test("`none` allows no page at all", async (t) => {
  const env = { ...ONE_PROCESS, GATEWAY_CORS_ORIGINS: "none" };
  const gateway = await startWithFiles(t, deployment, {}, env);
  const refused = await ask(gateway, "POST", "/v1/chat/completions", { origin: LOCAL_PAGE }, CHAT);
  assert.deepEqual([refused.status, refused.code], [403, "origin_not_allowed"]);
  assert.equal((await ask(gateway, "POST", "/v1/chat/completions", {}, CHAT)).status, 200);
});

test("in flag mode a page of another origin is refused too, and a provider's CORS headers are replaced", async () => {
  const refused = await ask(flags, "POST", "/v1/chat/completions", { origin: PAGE }, LOOSE);
  assert.deepEqual([refused.status, refused.code], [403, "origin_not_allowed"]);
  const answer = await ask(flags, "POST", "/v1/chat/completions", { origin: LOCAL_PAGE }, LOOSE);
  assert.deepEqual([answer.status, originOf(answer)], [200, LOCAL_PAGE]);
  assert.equal(answer.headers["access-control-allow-credentials"], undefined);
  assert.equal(answer.headers["x-secret"], "1");
  const { headers = [] } = permissive.requests.at(-1) ?? {};
  assert.ok(
    !headers.some(([name]) => /^(?:origin|sec-fetch-site)$/i.test(name)),
    "the page is not the provider's matter",
  );
  // A client that is not a page gets the provider's answer.
  const plain = await ask(flags, "POST", "/v1/chat/completions", {}, LOOSE);
  assert.equal(originOf(plain), "https://evil.example");
});

test("the preflight of a page on a private network is allowed", async () => {
  const asked = preflightOf("POST", PAGE, { "access-control-request-private-network": "true" });
  const answer = await ask(governed.gateway, "OPTIONS", "/v1/chat/completions", asked);
  assert.equal(answer.headers["access-control-allow-private-network"], "true");
});

test("OPTIONS that is not a preflight is forwarded as before", async () => {
  assert.equal((await ask(governed.gateway, "OPTIONS", "/v1/chat/completions", {})).status, 401);
  assert.equal((await ask(governed.gateway, "OPTIONS", "/v1/chat/completions", { origin: PAGE })).status, 401);
});

test("calls of MCP servers and agents are preflighted, and refused in their own protocols", async () => {
  for (const path of ["/mcp/tools", "/a2a/agent"]) {
    const before = await ask(governed.gateway, "OPTIONS", path, preflightOf("POST", PAGE));
    assert.deepEqual([before.status, before.headers["access-control-allow-methods"]], [204, "POST"]);
    const refused = await ask(open, "POST", path, { origin: PAGE }, RPC);
    assert.equal(refused.status, 403);
    assert.ok((JSON.parse(refused.text) as { readonly jsonrpc?: string }).jsonrpc === "2.0", refused.text);
    assert.match(refused.text, /origin_not_allowed/);
    const got = await ask(governed.gateway, "GET", path, bearer(key, LOCAL_PAGE));
    assert.deepEqual([got.status, originOf(got)], [405, "*"]);
  }
});

test("a WebSocket session is opened for allowed pages and for programs that send an origin", async () => {
  const status = (url: string, origin: string | undefined, protocols: readonly string[]): Promise<number> =>
    within(
      "the handshake",
      new Promise<number>((done) => {
        const socket = new WebSocket(`${url.replace("http", "ws")}/v1/realtime?model=sim-realtime`, [...protocols], {
          headers: origin === undefined ? {} : { origin },
        });
        socket.on("error", () => undefined);
        socket.once("open", () => {
          socket.terminate();
          done(101);
        });
        socket.once("unexpected-response", (_request, response: IncomingMessage) => done(response.statusCode ?? 0));
      }),
    );
  const token = (of: string) => ["realtime", `openai-insecure-api-key.${of}`];
  assert.equal(await status(governed.gateway.url, PAGE, token(key)), 101);
  assert.equal(await status(governed.gateway.url, PAGE, token("wrong")), 401);
  assert.equal(await status(open.url, PAGE, ["realtime"]), 403);
  assert.equal(await status(open.url, "null", ["realtime"]), 403);
  assert.equal(await status(open.url, LOCAL_PAGE, ["realtime"]), 101);
  assert.equal(await status(open.url, open.url, ["realtime"]), 101);
  assert.equal(await status(open.url, undefined, ["realtime"]), 101);
  assert.equal(await status(listed.closed.gateway.url, PAGE, token(listed.closed.key)), 101);
  assert.equal(await status(listed.closed.gateway.url, LOCAL_PAGE, token(listed.closed.key)), 403);
  assert.equal(await status(listed.open.url, PAGE, ["realtime"]), 101);
});
