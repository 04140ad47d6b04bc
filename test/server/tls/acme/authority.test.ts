/**
 * An authority that hangs, gives wrong answers, or answers endlessly: each is a failed attempt within its limits, with
 * a message.
 */
import assert from "node:assert/strict";
import { createServer, type ServerResponse } from "node:http";
import { test } from "node:test";
import { generatePrivatePem } from "../../../../src/base/index.ts";
import { openAuthority } from "../../../../src/server/tls/index.ts";
import { atEnd, type Owner } from "../../../e2e/support/wait.ts";

type Reply = (response: ServerResponse, at: (path: string) => string) => void;

async function start(owner: Owner, replies: Readonly<Record<string, Reply>>) {
  const server = createServer((request, response) => {
    const at = (path: string): string => `http://${request.headers.host}${path}`;
    response.setHeader("content-type", "application/json");
    const reply = replies[request.url ?? ""] ?? ((it) => void it.writeHead(404).end("{}"));
    reply(response, at);
  });
  server.listen(0, "127.0.0.1");
  await new Promise((ready) => server.once("listening", ready));
  const { port } = server.address() as { port: number };
  const url = `http://127.0.0.1:${port}`;
  const options = { roots: undefined, eab: undefined, userAgent: "gateway/test", now: Date.now };
  const authority = openAuthority({ directory: `${url}/dir`, ...options });
  atEnd(owner, () => {
    server.closeAllConnections();
    server.close();
  });
  atEnd(owner, () => authority.close());
  return { authority, url };
}

const replyWith =
  (body: unknown, status = 200, headers: Readonly<Record<string, string>> = {}): Reply =>
  (response) =>
    void response.writeHead(status, headers).end(typeof body === "string" ? body : JSON.stringify(body));
const problem = (type: string, detail: string, status: number, headers = {}): Reply =>
  replyWith({ type: `urn:ietf:params:acme:error:${type}`, detail }, status, headers);

const CASES: readonly (readonly [string, Reply, string, RegExp])[] = [
  ["an endless body", replyWith("x".repeat(1 << 20)), "ca_answer", /longer than 512 KiB/],
  ["invalid JSON", replyWith("{"), "ca_answer", /declared as JSON but is not JSON/],
  ["an array", replyWith([1]), "ca_answer", /does not follow RFC 8555: no JSON object/],
  ["null", replyWith(null), "ca_answer", /no JSON object/],
  [
    "addresses that are not text",
    replyWith({ newNonce: 1, newAccount: {}, newOrder: [] }),
    "ca_answer",
    /no `newNonce`/,
  ],
  ["an address that is too long", replyWith({ newNonce: "x".repeat(3_000) }), "ca_answer", /no `newNonce`/],
  ["a redirect", replyWith("", 302, { location: "http://169.254.169.254/" }), "ca_answer", /status 302/],
  ["a failure", replyWith("<html>", 503, { "content-type": "text/html" }), "ca_unreachable", /status 503/],
  [
    "a limit",
    problem("rateLimited", "too many\u001b[31m", 429, { "retry-after": "3600" }),
    "rate_limited",
    /too many \[31m$/,
  ],
  ["a failure with text declared as JSON", replyWith("down", 503), "ca_unreachable", /status 503/],
  ["a connection that is cut", (response) => void response.destroy(), "ca_unreachable", /cannot be reached/],
];

for (const [what, reply, reason, message] of CASES) {
  test(`${what} instead of a directory is an error`, async (t) => {
    const { authority } = await start(t, { "/dir": reply });
    const asking = authority.directory(AbortSignal.timeout(10_000));
    await assert.rejects(asking, (error: Error & { reason?: string }) => {
      assert.equal(error.reason, reason, error.message);
      assert.match(error.message, message);
      assert.ok(error.message.length < 500);
      return true;
    });
  });
}

test("silence and a dripping answer end at once with the signal", async (t) => {
  const drip: Reply = (response) => {
    response.write("{");
    const timer = setInterval(() => response.write(" "), 20);
    response.on("close", () => clearInterval(timer));
  };
  for (const reply of [() => undefined, drip]) {
    const { authority } = await start(t, { "/dir": reply });
    const stop = new AbortController();
    const asking = authority.directory(stop.signal);
    setTimeout(() => stop.abort(new Error("stopped")), 50);
    const startedAt = performance.now();
    await assert.rejects(asking, { message: "stopped" });
    assert.ok(performance.now() - startedAt < 5_000);
  }
});

test("invalid renewal information counts as none, and the path names its certificate", async (t) => {
  const window = (start: unknown, end: unknown): Reply =>
    replyWith({ suggestedWindow: { start, end } }, 200, { "retry-after": "60" });
  const { authority, url } = await start(t, {
    "/ari/good": window("2026-12-22T04:12:13Z", "2026-12-24T04:12:13Z"),
    "/ari/words": window("soon", {}),
    "/ari/list": replyWith({ suggestedWindow: [] }),
  });
  const signal = AbortSignal.timeout(10_000);
  const good = await authority.renewalInfo(`${url}/ari/`, "good", signal);
  assert.equal(good?.end, Date.UTC(2026, 11, 24, 4, 12, 13));
  assert.ok((good?.retryAt ?? 0) > Date.now());
  assert.equal(await authority.renewalInfo(`${url}/ari`, "words", signal), undefined);
  await assert.rejects(authority.renewalInfo(`${url}/ari`, "list", signal), { reason: "ca_answer" });
  await assert.rejects(authority.renewalInfo(`${url}/ari`, "unknown", signal), { reason: "ca_answer" });
});

test("an account answer without an account address is refused", async (t) => {
  const directory: Reply = (response, at) =>
    replyWith({ newNonce: at("/nonce"), newAccount: at("/account"), newOrder: at("/order") })(response, at);
  const { authority } = await start(t, {
    "/dir": directory,
    "/nonce": replyWith("", 200, { "replay-nonce": "n" }),
    "/account": replyWith({}, 201),
  });
  await assert.rejects(authority.register(generatePrivatePem("p-256"), "", AbortSignal.timeout(10_000)), {
    reason: "ca_answer",
  });
});
