/**
 * Upstreams behind forward proxies, with real processes: only the proxy resolves their names, so a request around it
 * fails. Source: design decisions, section 20, "Forward proxies".
 */
import assert from "node:assert/strict";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import { join } from "node:path";
import { after, test } from "node:test";
import { WebSocket, WebSocketServer } from "ws";
import { createAdminClient } from "../../../src/admin-api/index.ts";
import { testAuthority } from "../../server/tls/support/authority.ts";
import { startWithFiles } from "../support/config.ts";
import { runProgram } from "../support/gateway.ts";
import { listenLocally } from "../support/ports.ts";
import { atEnd, within } from "../support/wait.ts";
import { testProxy } from "./support.ts";

const file = { after };
const PASSWORD = "canary-p:ss";
const NAMES = [
  "secure.test",
  "issuer.test",
  "tokens.test",
  "usage.test",
  "hub.test",
  "acme.test",
  "mcp.test",
  "agent.test",
];
const V6 = "2001:db8::1";

const authority = await testAuthority();
const serving = await authority.issue({ names: [...NAMES, V6, "localhost"] });
const tls = { cert: serving.chain, key: serving.key };

const answer = (incoming: IncomingMessage, outgoing: ServerResponse): void => {
  incoming.resume();
  incoming.on("end", () => {
    const token = { access_token: "t", token_type: "Bearer", expires_in: 3600 };
    const body = JSON.stringify({
      ...(incoming.url === "/token" && token),
      id: "c1",
      object: "chat.completion",
      choices: [],
      host: incoming.headers.host,
    });
    outgoing.writeHead(200, { "content-type": "application/json" }).end(body);
  });
};
const secure = createTlsServer(tls, answer);
const webSockets = new WebSocketServer({ server: secure });
webSockets.on("connection", (socket) => socket.on("message", (bytes) => socket.send(bytes, { binary: false })));
const plain = createServer(answer);
const [securePort, plainPort] = [await listenLocally(secure), await listenLocally(plain)];
atEnd(file, () => {
  for (const client of webSockets.clients) client.terminate();
  for (const server of [secure, plain]) {
    server.close();
    server.closeAllConnections();
  }
});

const names = { ...Object.fromEntries([...NAMES, V6].map((it) => [it, securePort])), "plain.test": plainPort };
const refused = { "forbidden.test": 403, "login.test": 407, "broken.test": 1, "plain-login.test": 407 };
const proxy = await testProxy(file, { names, refused });
const overTls = await testProxy(file, { names, refused, tls });

const compat = (name: string, base_url: string) => ({ name, dialect: "compat", base_url, models: [`${name}-*`] });
const deployment = {
  credentials: [
    { name: "fetched", oauth: { token_url: "https://tokens.test/token", client_id: "c", client_secret: "s" } },
  ],
  providers: [
    compat("secure", "https://secure.test/v1"),
    compat("v6", `https://[${V6}]/v1`),
    compat("plain", "http://plain.test/v1"),
    compat("unknown", "https://unknown.test/v1"),
    compat("forbidden", "https://forbidden.test/v1"),
    compat("login", "https://login.test:8443/v1"),
    compat("gated", "http://plain-login.test/v1"),
    compat("broken", "https://broken.test/v1"),
    compat("near", `http://127.0.0.1:${plainPort}/v1`),
    compat("excepted", "https://excepted.test/v1"),
    { name: "pooled", dialect: "compat", pool: { service: `http://localhost:${plainPort}` }, models: ["pooled-*"] },
  ],
  mcp: [
    { name: "far", url: "https://mcp.test/mcp" },
    { name: "private", url: "http://10.255.0.1/mcp" },
  ],
  a2a: [{ name: "peer", url: "https://agent.test/a2a", credential: "fetched" }],
  reconcile: { providers: [{ provider: "secure", type: "compat", admin_key: "k", base_url: "https://usage.test" }] },
};
const env = {
  HTTPS_PROXY: `http://user:${encodeURIComponent(PASSWORD)}@127.0.0.1:${proxy.port}`,
  http_proxy: `https://localhost:${overTls.port}`,
  NO_PROXY: ".excepted.test, 192.0.2.0/24",
};
const node = {
  admin: { local_socket: "admin.sock" },
  issuers: [{ name: "corp", url: "https://issuer.test", jwks_url: "https://issuer.test/keys" }],
};
const gateway = await startTrusting();

async function startTrusting() {
  const { writeFiles } = await import("../support/config.ts");
  const { dir } = await writeFiles(file, {});
  const roots = join(dir, "roots.pem");
  await writeFile(roots, authority.root);
  const trusting = { ...env, NODE_EXTRA_CA_CERTS: roots };
  return { ...(await startWithFiles(file, deployment, node, trusting)), env: trusting };
}

async function ask(model: string) {
  const body = JSON.stringify({ model: `${model}-1`, messages: [{ role: "user", content: "hi" }] });
  const init = { method: "POST", body, headers: { "content-type": "application/json", authorization: "Bearer k" } };
  const response = await within(model, fetch(`${gateway.url}/v1/chat/completions`, init));
  return { status: response.status, text: await response.text() };
}

test("providers are reached through the proxy of their scheme, with its credentials", async () => {
  const rows = [
    ["secure", proxy, "CONNECT secure.test:443", "secure.test"],
    ["v6", proxy, `CONNECT [${V6}]:443`, `[${V6}]`],
    ["plain", overTls, "POST http://plain.test/v1/chat/completions", "plain.test"],
  ] as const;
  for (const [model, through, line, host] of rows) {
    const { status, text } = await ask(model);
    assert.equal(status, 200, `${model}: ${text}`);
    assert.equal((JSON.parse(text) as { readonly host: string }).host, host);
    assert.ok(through.requests.includes(line), `${line} in ${through.requests.join(", ")}`);
  }
  const basic = `Basic ${Buffer.from(`user:${PASSWORD}`).toString("base64")}`;
  assert.ok(proxy.credentials.every((each) => each === basic));
  assert.ok(overTls.credentials.every((each) => each === undefined));
});

test("a refused or broken connection names the proxy, its answer and the remedy, and never its password", async () => {
  const shown = `the forward proxy http://127.0.0.1:${proxy.port}`;
  const rows = [
    ["forbidden", `${shown} answered 403 for forbidden.test:443: it does not allow that destination`],
    ["login", `${shown} answered 407 for login.test:8443: it requires a user and password`],
    ["unknown", `${shown} answered 502 for unknown.test:443: it cannot reach the destination`],
    ["broken", `${shown} closed the connection before the tunnel to broken.test:443 was open`],
    ["gated", `the forward proxy https://localhost:${overTls.port} answered 407 for http://plain-login.test`],
  ] as const;
  for (const [model, message] of rows) {
    const { status, text } = await ask(model);
    assert.equal(status, 502, model);
    assert.ok(text.includes(message) && text.includes("upstream_unreachable"), `${model}: ${text}`);
  }
  for (const secret of [PASSWORD, encodeURIComponent(PASSWORD)]) assert.ok(!gateway.stderr().includes(secret));
});

/** Returns what both proxies were asked for, without the usage reports that the gateway fetches at times of its own. */
const askedForCallers = (): readonly string[] =>
  [...overTls.requests, ...proxy.requests].filter((line) => !line.includes("usage.test"));

test("loopback, pools and hosts in NO_PROXY are reached directly", async () => {
  const before = askedForCallers();
  assert.equal((await ask("near")).status, 200);
  assert.equal((await ask("pooled")).status, 200);
  const { status, text } = await ask("excepted");
  assert.equal(status, 502);
  assert.doesNotMatch(text, /proxy/);
  assert.deepEqual(askedForCallers(), before);
});

test("a WebSocket session goes through a tunnel", async (t) => {
  const before = askedForCallers().length;
  const url = `${gateway.url.replace("http", "ws")}/v1/realtime?model=secure-1`;
  const socket = new WebSocket(url, { headers: { authorization: "Bearer k" } });
  atEnd(t, () => socket.terminate());
  await within("the session", once(socket, "open"));
  socket.send("over the tunnel");
  const [echo] = await within("the echo", once(socket, "message"));
  assert.equal(String(echo), "over the tunnel");
  assert.deepEqual(askedForCallers().slice(before), ["CONNECT secure.test:443"]);
});

test("GET /status lists what uses a proxy, without credentials", async (t) => {
  const client = createAdminClient({ address: { kind: "socket", path: join(gateway.files.dir, "admin.sock") } });
  atEnd(t, () => client.close());
  const { forward_proxies: listed = [] } = await client.call("get_status");
  const [first, second] = [`http://127.0.0.1:${proxy.port}`, `https://localhost:${overTls.port}`];
  const through = Object.fromEntries(listed.map((each) => [each.upstream, each.proxy]));
  for (const name of ["secure", "v6", "login", "forbidden"]) assert.equal(through[`provider ${name}`], first);
  assert.equal(through["provider plain"], second);
  for (const name of [
    "MCP server far",
    "agent peer",
    "token endpoint of fetched",
    "issuer corp",
    "usage report of secure",
  ]) {
    assert.equal(through[name], first, name);
  }
  for (const name of ["provider near", "provider pooled", "provider excepted", "MCP server private"]) {
    assert.equal(through[name], undefined, name);
  }
});

test("check sends everything through the proxy, and says what uses it", async () => {
  const before = proxy.requests.length;
  const args = ["check", "-timeout", "5s", "-config", gateway.files.nodePath];
  const { ended, stdout } = runProgram(file, { args, env: gateway.env });
  await within("check", ended);
  const asked = new Set(proxy.requests.slice(before));
  for (const name of ["secure.test", "issuer.test", "tokens.test", "usage.test", "mcp.test", "agent.test"]) {
    assert.ok(asked.has(`CONNECT ${name}:443`), `${name} in ${[...asked].join(", ")}\n${stdout()}`);
  }
  const lines = stdout().split("\n");
  const noted = `note  provider secure: is reached through the forward proxy http://127.0.0.1:${proxy.port}`;
  assert.ok(lines.includes(noted), stdout());
  assert.ok(
    lines.some((line) => line.startsWith("fail  provider forbidden") && line.includes("answered 403")),
    stdout(),
  );
  assert.ok(!stdout().includes(PASSWORD));
});

test("an unusable proxy variable is named and ends the start", async () => {
  const socks = { HTTPS_PROXY: "socks5://user:hunter2@127.0.0.1:1080" };
  const args = ["-listen", "127.0.0.1:0", "-metrics-listen", "none"];
  const { ended, stderr } = runProgram(file, { args, env: socks });
  assert.equal((await within("the end", ended)).status, 10);
  assert.match(stderr(), /HTTPS_PROXY: proxies of the kind "socks5" are not supported/);
  assert.doesNotMatch(stderr(), /hunter2/);
});
