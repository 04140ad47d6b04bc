/** Requests to the admin listener: their address, their token, and retries; and raw requests. */

import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type IncomingMessage, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { type TestContext, test } from "node:test";
import { AdminError, createAdminClient, openTransport, readText, type Transport } from "../../src/admin-api/index.ts";

type Token = (options?: { readonly renew?: boolean }) => Promise<string | undefined>;

interface Served {
  readonly url: string;
  /** Number of accepted connections. */
  connections(): number;
}

async function serve(t: TestContext, listener: RequestListener): Promise<Served> {
  const server = createServer(listener).listen(0, "127.0.0.1");
  let connections = 0;
  server.on("connection", () => {
    connections += 1;
  });
  await once(server, "listening");
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, connections: () => connections };
}

function open(t: TestContext, url: string, token?: Token): Transport {
  const transport = openTransport({ kind: "url", url, ...(token !== undefined && { token }) });
  t.after(() => transport.close());
  return transport;
}

const textOf = async (request: IncomingMessage): Promise<string> => {
  let text = "";
  for await (const part of request) text += part;
  return text;
};

async function rejection(promise: Promise<unknown>): Promise<AdminError> {
  const error = await promise.then(
    () => assert.fail("it was answered"),
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof AdminError, String(error));
  return error;
}

/** Refuses every token but this. */
const asking = (accepted: string, seen: unknown[]): RequestListener => {
  return async (request, response) => {
    seen.push([request.headers.authorization, await textOf(request)]);
    response.writeHead(request.headers.authorization === `Bearer ${accepted}` ? 200 : 401).end("{}");
  };
};

/** Returns the tokens one after the other and records its calls. */
const sourceOf = (requests: unknown[], ...tokens: readonly (string | undefined)[]): Token => {
  const left = [...tokens];
  return async (options) => {
    requests.push(options?.renew === true ? "renew" : "give");
    return left.shift();
  };
};

test("a request goes below the gateway's base path, with its token", async (t) => {
  const seen: unknown[] = [];
  const { url } = await serve(t, (request, response) => {
    seen.push([request.method, request.url, request.headers.authorization]);
    response.end("{}");
  });
  const token = sourceOf([], "one", undefined);
  const transport = open(t, `${url}/team/gateway`, token);
  for (const path of ["/admin/v1/keys?index=1", "/healthz"]) {
    assert.equal(await transport.exchange({ method: "GET", path }, readText), "{}");
  }
  assert.deepEqual(seen, [
    ["GET", "/team/gateway/admin/v1/keys?index=1", "Bearer one"],
    ["GET", "/team/gateway/healthz", undefined],
  ]);
});

test("sequential requests share a connection, even after a refusal", async (t) => {
  const { url, connections } = await serve(t, async (request, response) => {
    await textOf(request);
    response.writeHead(request.url === "/bad" ? 400 : 200).end("{}");
  });
  const transport = open(t, url);
  for (const path of ["/a", "/bad", "/b"]) await transport.exchange({ method: "POST", path, body: "x" }, readText);
  assert.equal(connections(), 1);
});

test("a refused token is renewed once and the request repeated, with any repeatable body", async (t) => {
  const seen: unknown[] = [];
  const requests: unknown[] = [];
  const { url } = await serve(t, asking("new", seen));
  const parts = async function* (): AsyncGenerator<Uint8Array> {
    yield Buffer.from("par");
    yield Buffer.from("ts");
  };
  for (const [body, text] of [
    [undefined, ""],
    ["text", "text"],
    [Buffer.from("bytes"), "bytes"],
    [parts, "parts"],
  ] as const) {
    seen.length = 0;
    requests.length = 0;
    const transport = open(t, url, sourceOf(requests, "old", "new"));
    const status = await transport.exchange({ method: "POST", path: "/", body }, (answer) => answer.status);
    assert.equal(status, 200);
    assert.deepEqual(requests, ["give", "renew"]);
    assert.deepEqual(seen, [
      ["Bearer old", text],
      ["Bearer new", text],
    ]);
  }
});

for (const [title, tokens] of [
  ["there is no other token", ["old", undefined]],
  ["the renewed token is the refused one", ["old", "old"]],
] as const) {
  test(`a 401 is returned when ${title}`, async (t) => {
    const seen: unknown[] = [];
    const { url } = await serve(t, asking("new", seen));
    const transport = open(t, url, sourceOf([], ...tokens));
    assert.equal(await transport.exchange({ method: "GET", path: "/" }, ({ status }) => status), 401);
    assert.equal(seen.length, 1);
  });
}

test("a renewed token that is refused again is not renewed again", async (t) => {
  const seen: unknown[] = [];
  const requests: unknown[] = [];
  const { url } = await serve(t, asking("another", seen));
  const transport = open(t, url, sourceOf(requests, "old", "new", "newer"));
  assert.equal(await transport.exchange({ method: "GET", path: "/" }, ({ status }) => status), 401);
  assert.deepEqual([requests, seen.length], [["give", "renew"], 2]);
});

test("a body that can be read only once is not sent twice", async (t) => {
  const seen: unknown[] = [];
  const requests: unknown[] = [];
  const { url } = await serve(t, asking("new", seen));
  const transport = open(t, url, sourceOf(requests, "old", "new"));
  const body = (async function* (): AsyncGenerator<Uint8Array> {
    yield Buffer.from("once");
  })();
  assert.equal(await transport.exchange({ method: "POST", path: "/", body }, ({ status }) => status), 401);
  assert.deepEqual([requests, seen], [["give"], [["Bearer old", "once"]]]);
});

test("calls refused at the same time share one renewal", async (t) => {
  let refused = 0;
  const accept = asking("new", []);
  const { url } = await serve(t, (request, response) => {
    response.once("finish", () => {
      refused += 1;
      if (refused === 2) bothRefused();
    });
    accept(request, response);
  });
  const tokenless = open(t, url);
  let renewals = 0;
  let bothRefused = (): void => undefined;
  const refusals = new Promise<void>((resolve) => {
    bothRefused = resolve;
  });
  const transport = open(t, url, async (options) => {
    if (options?.renew !== true) return "old";
    renewals += 1;
    await refusals;
    // Everything answered before this exchange has been read when it completes.
    await tokenless.exchange({ method: "GET", path: "/" }, readText);
    return "new";
  });
  const statuses = await Promise.all(
    ["/a", "/b"].map((path) => transport.exchange({ method: "GET", path }, ({ status }) => status)),
  );
  assert.deepEqual([statuses, renewals], [[200, 200], 1]);
});

test("a sign-in without a token is reported with its own message and cause", async (t) => {
  const { url } = await serve(t, asking("new", []));
  const ended = new Error("the sign-in has ended");
  const before = await rejection(
    open(t, url, () => Promise.reject(ended)).exchange({ method: "GET", path: "/" }, () => undefined),
  );
  assert.deepEqual([before.status, before.code, before.message], [0, "unauthenticated", "the sign-in has ended"]);
  const late: Token = (options) => (options?.renew === true ? Promise.reject(ended) : Promise.resolve("old"));
  const after = await rejection(open(t, url, late).exchange({ method: "GET", path: "/" }, () => undefined));
  assert.deepEqual([after.status, after.code, after.cause], [401, "unauthenticated", ended]);
});

test("a slow token source is abandoned with the call", async (t) => {
  const { url } = await serve(t, asking("new", []));
  const transport = open(t, url, () => new Promise(() => {}));
  const limited = transport.exchange({ method: "GET", path: "/" }, () => undefined, { timeLimitMs: 20 });
  assert.equal((await rejection(limited)).code, "timeout");
  const signal = AbortSignal.timeout(20);
  const left = transport.exchange({ method: "GET", path: "/" }, () => undefined, { signal });
  assert.equal((await rejection(left)).code, "aborted");
});

test("no redirect is followed, so a token reaches no other host", async (t) => {
  const seen: unknown[] = [];
  const other = await serve(t, asking("x", seen));
  const { url } = await serve(t, (_request, response) => response.writeHead(302, { location: other.url }).end());
  const transport = open(t, url, sourceOf([], "x"));
  assert.equal(await transport.exchange({ method: "GET", path: "/" }, ({ status }) => status), 302);
  assert.deepEqual(seen, []);
});

test("an early refusal of a long body is the answer, and the rest of the body is not read", async (t) => {
  const { url } = await serve(t, (request, response) => {
    request.resume();
    response
      .writeHead(413, { "content-type": "application/json" })
      .end('{"error":{"code":"body_too_large","message":"No."}}');
  });
  const client = createAdminClient({ address: { kind: "url", url } });
  t.after(() => client.close());
  const call = client.call("put_source", { params: { name: "a" }, body: "x".repeat(8 << 20) });
  assert.deepEqual([(await rejection(call)).status, (await rejection(call)).code], [413, "body_too_large"]);
});

test("a raw request is sent as given and answered whatever the status", async (t) => {
  const { url } = await serve(t, async (request, response) => {
    response.writeHead(418, { "x-kind": "teapot" });
    response.end([request.method, request.url, request.headers["x-a"], await textOf(request)].join(" "));
  });
  const client = createAdminClient({ address: { kind: "url", url } });
  t.after(() => client.close());
  const below = await client.raw("PATCH", "keys/a", { headers: { "x-a": "b" }, body: "{}" });
  assert.deepEqual([below.status, below.headers["x-kind"]], [418, "teapot"]);
  assert.equal(await readText(below), "PATCH /admin/v1/keys/a b {}");
  assert.equal(await readText(await client.raw("GET", "/readyz")), "GET /readyz  ");
});

test("a gateway that is down is unreachable, with its URL and the system's code", async (t) => {
  const { url } = await serve(t, () => {});
  const transport = open(t, url.replace(/\d+$/, "1"));
  const error = await rejection(transport.exchange({ method: "GET", path: "/" }, () => undefined));
  assert.equal(error.code, "unreachable");
  assert.match(error.message, /127\.0\.0\.1:1/);
  assert.equal((error.cause as NodeJS.ErrnoException).code, "ECONNREFUSED");
});
