/** The metrics listener over real sockets: its three paths, its limits, its closing. */

import assert from "node:assert/strict";
import { once } from "node:events";
import { connect } from "node:net";
import { type TestContext, test } from "node:test";
import { createInstruments, createLogger, type Instruments } from "../../../src/base/index.ts";
import { type MetricsListener, type MetricsOptions, startMetrics } from "../../../src/server/telemetry/index.ts";

async function start(
  t: TestContext,
  options: Partial<MetricsOptions> = {},
): Promise<MetricsListener & { readonly url: string; readonly instruments: Instruments }> {
  const instruments = createInstruments();
  const listener = await startMetrics({
    address: "127.0.0.1:0",
    instruments,
    buildInfo: { version: "1.2.3", commit: "abc", node: "20.19.0" },
    readiness: () => ({ ready: true, reasons: [] }),
    ...options,
  });
  t.after(() => listener.close());
  return { ...listener, url: `http://127.0.0.1:${listener.port}`, instruments };
}

/** Sends `text` unchanged and returns everything received until the other side closes. */
async function raw(port: number, text: string): Promise<string> {
  const socket = connect(port, "127.0.0.1");
  socket.setEncoding("utf8");
  let answer = "";
  socket.on("data", (part: string) => {
    answer += part;
  });
  socket.on("error", () => {}); // a reset after the answer counts as a close
  socket.write(text);
  await new Promise((resolve) => socket.on("close", resolve)); // `once` of node:events would reject on the reset
  return answer;
}

test("/metrics has our instruments, the build, the event loop lag and the process", async (t) => {
  const { url, instruments } = await start(t);
  instruments.counter("gateway_requests_total", "Requests.", ["route"]).with("chat").inc(2);
  const response = await fetch(`${url}/metrics`);
  assert.equal(response.status, 200);
  assert.equal(response.headers.get("content-type"), "text/plain; version=0.0.4; charset=utf-8");
  const text = await response.text();
  assert.match(text, /^gateway_requests_total\{route="chat"\} 2$/m);
  assert.match(text, /^gateway_build_info\{version="1.2.3",commit="abc",node="20.19.0"\} 1$/m);
  for (const quantile of ["p50", "p99", "max"]) {
    assert.match(text, new RegExp(`^gateway_event_loop_lag_seconds\\{percentile="${quantile}"\\} [0-9.e-]+$`, "m"));
  }
  const resident = /^process_resident_memory_bytes (\d+)$/m.exec(text)?.[1];
  assert.ok(Number(resident) > 1_000_000);
  assert.ok(Number(/^process_cpu_seconds_total (\S+)$/m.exec(text)?.[1]) > 0);
});

test("a blocked event loop shows in the lag", async (t) => {
  const { url } = await start(t);
  let worstSeconds = 0;
  // The first block may precede the start of the measuring timer.
  for (let round = 0; round < 50 && worstSeconds < 0.03; round++) {
    const until = performance.now() + 60;
    while (performance.now() < until);
    const text = await (await fetch(`${url}/metrics`)).text();
    worstSeconds = Number(/lag_seconds\{percentile="max"\} (\S+)/.exec(text)?.[1]);
  }
  assert.ok(worstSeconds >= 0.03, `${worstSeconds} s`);
});

test("/healthz says that the process answers, also while it is not ready", async (t) => {
  const { url } = await start(t, { readiness: () => ({ ready: false, reasons: ["x"] }) });
  const response = await fetch(`${url}/healthz`);
  assert.equal(response.status, 200);
  assert.deepEqual(await response.json(), { healthy: true });
});

test("/readyz follows readiness, with 503 and the reasons while not ready", async (t) => {
  let reasons: readonly string[] = ["the configuration has not been compiled"];
  const { url } = await start(t, { readiness: () => ({ ready: reasons.length === 0, reasons }) });
  const before = await fetch(`${url}/readyz`);
  assert.equal(before.status, 503);
  assert.equal(before.headers.get("content-type"), "application/json");
  assert.deepEqual(await before.json(), { ready: false, reasons: ["the configuration has not been compiled"] });
  reasons = [];
  const after = await fetch(`${url}/readyz`);
  assert.equal(after.status, 200);
  assert.deepEqual(await after.json(), { ready: true, reasons: [] });
});

test("a query is not part of the path, and any other path is 404", async (t) => {
  const { url } = await start(t);
  assert.equal((await fetch(`${url}/healthz?x=1`)).status, 200);
  for (const path of ["/", "/metrics/", "/admin/v1/keys", "/healthz/x"]) {
    const response = await fetch(`${url}${path}`);
    assert.equal(response.status, 404, path);
    await response.text();
  }
});

test("HEAD answers with the headers of GET and no body", async (t) => {
  const { port } = await start(t);
  const answer = await raw(port, "HEAD /healthz HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
  assert.match(answer, /^HTTP\/1\.1 200 /);
  assert.match(answer, /content-length: 17\r\n/i);
  assert.ok(answer.endsWith("\r\n\r\n"));
});

test("other methods are 405, and a body is refused unread", async (t) => {
  const { url, port } = await start(t);
  const response = await fetch(`${url}/metrics`, { method: "DELETE" });
  assert.equal(response.status, 405);
  assert.equal(response.headers.get("allow"), "GET, HEAD");
  // The connection closes although the announced megabyte never arrives.
  assert.match(
    await raw(port, "GET /metrics HTTP/1.1\r\nhost: x\r\ncontent-length: 1000000\r\n\r\n"),
    /^HTTP\/1\.1 413 /,
  );
  assert.match(
    await raw(port, "POST /metrics HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n"),
    /^HTTP\/1\.1 405 /,
  );
  // A client that expects 100 Continue does not get it.
  assert.match(
    await raw(port, "POST /metrics HTTP/1.1\r\nhost: x\r\nexpect: 100-continue\r\ncontent-length: 9\r\n\r\n"),
    /^HTTP\/1\.1 405 /,
  );
});

test("headers above the limit are refused", async (t) => {
  const { port } = await start(t);
  const answer = await raw(port, `GET /healthz HTTP/1.1\r\nhost: x\r\nx-long: ${"a".repeat(20_000)}\r\n\r\n`);
  assert.match(answer, /^HTTP\/1\.1 431 /);
});

test("connections above the limit are dropped, and existing ones keep their answers", async (t) => {
  const { port } = await start(t);
  const held = await Promise.all(
    Array.from({ length: 64 }, async () => {
      const socket = connect(port, "127.0.0.1");
      await once(socket, "connect");
      return socket;
    }),
  );
  try {
    assert.equal(await raw(port, "GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n"), "");
    const first = held[0] as (typeof held)[number];
    first.write("GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n");
    const [answer] = (await once(first, "data")) as [Buffer];
    assert.match(answer.toString(), /^HTTP\/1\.1 200 /);
  } finally {
    for (const socket of held) socket.destroy();
  }
});

test("a failure while answering is a 500 without its cause, which is logged", async (t) => {
  const lines: string[] = [];
  const { url } = await start(t, {
    readiness: () => {
      throw new Error("a cause with details");
    },
    log: createLogger({
      stream: { write: (text) => lines.push(text) },
      isTerminal: false,
      level: "info",
      now: () => 0,
    }),
  });
  const response = await fetch(`${url}/readyz`);
  assert.equal(response.status, 500);
  assert.doesNotMatch(await response.text(), /details/);
  assert.match(lines.join(""), /a cause with details/);
});

test("the returned address has the real port, also for IPv6 and for all interfaces", async (t) => {
  const v4 = await start(t);
  assert.equal(v4.address, `127.0.0.1:${v4.port}`);
  assert.ok(v4.port > 0);
  const all = await start(t, { address: ":0" });
  assert.match(all.address, /^(\[::\]|0\.0\.0\.0):\d+$/);
  assert.equal((await fetch(`${all.url}/healthz`)).status, 200);
});

test("a malformed address and one in use are refused by name", async (t) => {
  await assert.rejects(start(t, { address: "9464" }), /"9464" is not host:port/);
  const { address } = await start(t);
  await assert.rejects(start(t, { address }), new RegExp(`cannot listen on ${address}.*EADDRINUSE`));
});

test("after closing nothing listens, and a second close is harmless", async (t) => {
  const listener = await start(t);
  assert.equal((await fetch(`${listener.url}/healthz`)).status, 200); // leaves a kept-alive connection behind
  await listener.close();
  await listener.close();
  await assert.rejects(fetch(`${listener.url}/healthz`));
});

test("an aborted signal closes the listener, and one aborted before keeps it from opening", async (t) => {
  const stop = new AbortController();
  const listener = await start(t, { signal: stop.signal });
  stop.abort();
  await listener.close();
  await assert.rejects(fetch(`${listener.url}/healthz`));
  await assert.rejects(start(t, { signal: AbortSignal.abort() }), { name: "AbortError" });
});
