/** Proxy answers to CONNECT over real sockets: each is a tunnel or a failure that names the proxy. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { get } from "node:https";
import { createServer, type Socket } from "node:net";
import { after, test } from "node:test";
import { faultBehindProxy } from "../../../src/server/forward-proxy/fault.ts";
import {
  createProxyConnection,
  openHttpsProxyAgent,
  readForwardProxies,
} from "../../../src/server/forward-proxy/index.ts";

type Script = (client: Socket, head: string) => void;
let script: Script = () => undefined;
const open = new Set<Socket>();
const server = createServer((client) => {
  open.add(client);
  client.on("error", () => undefined).once("data", (bytes) => script(client, bytes.toString("latin1")));
});
server.listen(0, "127.0.0.1");
await once(server, "listening");
const address = server.address();
assert.ok(address !== null && typeof address === "object");
const { port } = address;
after(() => {
  server.close();
  for (const each of open) each.destroy();
});

const proxyAt = (text: string) => {
  const proxy = readForwardProxies({ HTTPS_PROXY: text }).proxies.proxyFor(new URL("https://api.test"));
  assert.ok(proxy !== undefined);
  return proxy;
};

function connectBy(text: string, host = "api.test", limitMs = 5_000, signal?: AbortSignal): Promise<Socket> {
  const options = { proxy: proxyAt(text), target: { host, port: 443 }, tls: undefined, limitMs };
  return new Promise((resolve, reject) => {
    createProxyConnection(signal === undefined ? options : { ...options, signal }, (error, socket) =>
      socket === null ? reject(error) : resolve(socket),
    );
  });
}

test("a tunnel carries bytes sent with and after the answer, however the answer is cut", async () => {
  const answers = [
    ["HTTP/1.1 200 OK\r\n\r\nearly"],
    ["HTTP/1.0 200\r\nproxy-agent: x\r\n\r\n", "early"],
    ["HTTP/1.1 299 Fine\r\n\r\ne", "arly"],
    ["H", "TTP/1.1 20", "0 OK\r", "\n\r\nearly"],
    ["HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n\r\nearly"],
    ["HTTP/1.1 102 Processing\r\n\r\n", "HTTP/1.1 200 OK\r\n\r\nearly"],
  ];
  for (const pieces of answers) {
    script = async (client) => {
      client.setNoDelay(true);
      for (const piece of pieces) await new Promise((done) => client.write(piece, done));
    };
    const socket = await connectBy(`http://127.0.0.1:${port}`);
    let text = "";
    for await (const chunk of socket) {
      text += String(chunk);
      if (text.length >= "early".length) break;
    }
    assert.equal(text, "early", pieces.join("|"));
  }
});

test("the target is sent as an authority, with IPv6 in brackets", async () => {
  for (const [host, name] of [
    ["api.test", "api.test:443"],
    ["2001:db8::1", "[2001:db8::1]:443"],
  ] as const) {
    let seen = "";
    script = (client, head) => {
      seen = head;
      client.write("HTTP/1.1 200 OK\r\n\r\n");
    };
    (await connectBy(`http://u:p@127.0.0.1:${port}`, host)).destroy();
    assert.equal(seen, `CONNECT ${name} HTTP/1.1\r\nhost: ${name}\r\nproxy-authorization: Basic dTpw\r\n\r\n`);
  }
});

test("every failure names the proxy without its credentials, and the cause", async () => {
  const answering =
    (text: string): Script =>
    (client) =>
      client.end(text);
  const rows: readonly (readonly [Script, RegExp])[] = [
    [answering("HTTP/1.1 407 Login\r\n\r\n"), /answered 407 for api\.test:443: it requires a user and password/],
    [answering("HTTP/1.1 403 No\r\n\r\n"), /answered 403 for api\.test:443: it does not allow that destination/],
    [answering("HTTP/1.1 502 Bad\r\n\r\n"), /answered 502 for api\.test:443: it cannot reach the destination/],
    [answering("HTTP/1.1 504 Late\r\n\r\n"), /answered 504 for api\.test:443/],
    [answering("HTTP/1.1 302 Found\r\nlocation: http://x\r\n\r\n"), /answered 302 for api\.test:443$/],
    [answering("HTTP/1.1 abc\r\n\r\n"), /does not answer CONNECT with valid HTTP\/1\.1/],
    [answering("\u0005\u0000"), /does not answer CONNECT with valid HTTP\/1\.1/],
    [answering(`HTTP/1.1 200 OK\r\nx: ${"x".repeat(40_000)}`), /does not answer CONNECT with valid HTTP\/1\.1/],
    [answering("HTTP/1.1 200 OK\r\n"), /closed the connection before the tunnel to api\.test:443/],
    [(client) => client.destroy(), /closed the connection before the tunnel to api\.test:443/],
    [(client) => client.resetAndDestroy(), /broke off the tunnel to api\.test:443|closed the connection/],
    [() => undefined, /did not answer in time for api\.test:443/],
  ];
  for (const [each, expected] of rows) {
    script = each;
    const failed = connectBy(`http://user:hunter2@127.0.0.1:${port}`, "api.test", 300);
    await assert.rejects(failed, (error: Error) => {
      assert.match(error.message, expected);
      assert.match(error.message, new RegExp(`^the forward proxy http://127\\.0\\.0\\.1:${port} `));
      assert.doesNotMatch(JSON.stringify(error) + error.message, /hunter2|aHVudGVyMg/);
      return true;
    });
  }
});

test("a certificate that is not trusted behind the proxy is a failure with the remedy", () => {
  const failed = (code: string) =>
    faultBehindProxy(
      proxyAt("http://u:secret@127.0.0.1:3128"),
      "api.test:443",
      Object.assign(new Error("x"), { code }),
    );
  for (const code of ["UNABLE_TO_VERIFY_LEAF_SIGNATURE", "SELF_SIGNED_CERT_IN_CHAIN", "DEPTH_ZERO_SELF_SIGNED_CERT"]) {
    assert.match(failed(code).message, new RegExp(`${code}; .*NODE_EXTRA_CA_CERTS`));
  }
  assert.doesNotMatch(failed("CERT_HAS_EXPIRED").message, /NODE_EXTRA_CA_CERTS|secret/);
});

test("a proxy that is down or does not speak TLS is named, and a caller that disconnects ends the attempt", async () => {
  await assert.rejects(
    connectBy("http://127.0.0.1:9"),
    /forward proxy http:\/\/127\.0\.0\.1:9 cannot be reached: nothing listens/,
  );
  await assert.rejects(connectBy("http://proxy.invalid:3128"), /cannot be reached: its name does not resolve/);
  script = (client) => client.end("HTTP/1.1 400 Bad\r\n\r\n");
  await assert.rejects(
    connectBy(`https://127.0.0.1:${port}`),
    /forward proxy https:\/\/127\.0\.0\.1:\d+ cannot be reached/,
  );
  const leaving = new AbortController();
  script = () => leaving.abort(new Error("the caller left"));
  await assert.rejects(connectBy(`http://127.0.0.1:${port}`, "api.test", 5_000, leaving.signal), /the caller left/);
});

test("an agent of node:https uses the proxy except for loopback", async () => {
  const { proxies } = readForwardProxies({ HTTPS_PROXY: `http://127.0.0.1:${port}` });
  const agent = openHttpsProxyAgent(proxies, 5_000);
  script = (client) => client.end("HTTP/1.1 403 No\r\n\r\n");
  const failureOf = async (url: string) => String((await once(get(url, { agent }), "error"))[0]);
  assert.match(
    await failureOf("https://sts.test/"),
    /forward proxy http:\/\/127\.0\.0\.1:\d+ answered 403 for sts\.test:443/,
  );
  assert.match(await failureOf("https://[2001:db8::2]:8443/"), /answered 403 for \[2001:db8::2\]:8443/);
  assert.match(await failureOf("https://127.0.0.1:9/"), /ECONNREFUSED/);
});
