/** Statistics of data plane traffic: retries, failovers, failures, sessions, clients that disconnect. */

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { request } from "node:http";
import type { Socket } from "node:net";
import { after, beforeEach, test } from "node:test";
import { WebSocket } from "ws";
import { createInstruments, nullLog, systemClock } from "../../../src/base/index.ts";
import {
  createMetrics,
  createOwnCards,
  createResponses,
  createStatistics,
  listen,
} from "../../../src/server/dataplane/index.ts";
import { createAdmission, DEFAULT_ADMISSION } from "../../../src/server/memory/index.ts";
import { compileSources } from "../../../src/server/node/configuration/compile-sources.ts";
import { openOrigins } from "../../../src/server/upstream/index.ts";
import { reply, scriptedUpstream } from "../../e2e/support/upstream.ts";
import { atEnd, eventually } from "../../e2e/support/wait.ts";
import { staticKeyPresenter } from "../credentials/static-key-presenter.ts";

const file = { after };
const first = await scriptedUpstream(file);
const second = await scriptedUpstream(file);
const NO_SECRET = { kind: "problem", message: "none", missing: true } as const;
const { compiled } = compileSources({
  sources: [
    {
      name: "test",
      text: JSON.stringify({
        providers: [
          {
            name: "first",
            dialect: "compat",
            base_url: first.url,
            models: ["m"],
            retry: { attempts: 1, when: ["5xx"], backoff: "1ms" },
            failover: { to: ["second"], when: ["5xx", 429, "timeout"] },
            first_byte_timeout: "200ms",
          },
          { name: "second", dialect: "compat", base_url: second.url, first_byte_timeout: "5s" },
        ],
      }),
    },
  ],
  env: {},
  secrets: { secret: () => NO_SECRET, file: () => NO_SECRET },
  fileOverlays: [],
});
assert.ok(compiled.kind === "compiled", JSON.stringify(compiled));
const { snapshot } = compiled;
const statistics = createStatistics(systemClock);
const origins = openOrigins();
const presenter = staticKeyPresenter();
const instruments = createInstruments();
const metrics = createMetrics(instruments, { warn: () => undefined });
const listener = await listen("127.0.0.1:0", {
  snapshot: () => snapshot,
  origins,
  presenter,
  admission: createAdmission(DEFAULT_ADMISSION),
  metrics,
  ownCards: createOwnCards({ origins, presenter, now: systemClock.monotonic, log: nullLog }),
  responses: createResponses({ nodeId: "", keys: undefined, memoryBytes: 0, now: systemClock.monotonic, instruments }),
  statistics,
  log: nullLog,
});
atEnd(file, () => origins.close());
atEnd(file, () => listener.drain(1_000));

beforeEach(() => {
  statistics.configure([]);
  statistics.configure(["first", "second"]);
});

const ask = async () => {
  const answer = await fetch(`http://127.0.0.1:${listener.port}/v1/chat/completions`, {
    method: "POST",
    body: JSON.stringify({ model: "m" }),
  });
  await answer.arrayBuffer();
  return answer.status;
};

/** Waits until nothing is in flight: an attempt ends a moment after its answer has arrived. */
const settled = async (provider: string) =>
  await eventually(`${provider} at rest`, () => {
    const read = statistics.read(provider);
    return read?.inFlight === 0 && read;
  });

test("an answered attempt is counted with its time to the first byte", async () => {
  first.script = (socket) => reply(socket);
  assert.equal(await ask(), 200);
  const read = await settled("first");
  assert.deepEqual([read.state, read.errorRatio, read.retries, read.failoversOut], ["ok", 0, 0, 0]);
  assert.ok((read.firstByteP50 ?? 0) > 0 && (read.firstByteP50 ?? 0) < 5_000);
  assert.deepEqual((await settled("second")).state, "idle");
});

test("a retry and a failover are counted at both providers, and each failure with its target", async () => {
  first.script = (socket) => reply(socket, { status: 503 });
  second.script = (socket) => reply(socket);
  assert.equal(await ask(), 200);
  const left = await settled("first");
  assert.deepEqual([left.errorRatio, left.retries, left.failoversOut, left.failoversIn], [1, 1, 1, 0]);
  assert.equal(left.firstByteP50, null);
  const came = await settled("second");
  assert.deepEqual([came.errorRatio, came.retries, came.failoversOut, came.failoversIn], [0, 0, 0, 1]);
  assert.deepEqual(
    statistics.failures("first")?.map(({ kind, status, attempt, movedTo }) => [kind, status, attempt, movedTo]),
    [
      ["5xx", 503, 2, "second"],
      ["5xx", 503, 1, "first"],
    ],
  );
});

test("a failing answer that is returned to the client has no failover target", async () => {
  first.script = (socket) => reply(socket, { status: 429 });
  second.script = (socket) => reply(socket, { status: 500 });
  assert.equal(await ask(), 500);
  await settled("second");
  const failures = ["first", "second"].map((name) => statistics.failures(name)?.map((it) => [it.kind, it.movedTo]));
  assert.deepEqual(failures, [[["429", "second"]], [["5xx", null]]]);
});

test("a silent provider and an unreachable one fail without a status", async () => {
  first.script = () => {};
  second.script = (socket) => socket.destroy();
  assert.equal(await ask(), 502);
  await settled("second");
  const failures = ["first", "second"].map((name) => statistics.failures(name)?.map((it) => [it.kind, it.status]));
  assert.deepEqual(failures, [[["timeout", null]], [["connect", null]]]);
});

test("a request that the provider rejects as invalid is not a failure", async () => {
  first.script = (socket) => reply(socket, { status: 400 });
  assert.equal(await ask(), 400);
  assert.equal((await settled("first")).errorRatio, 0);
});

test("a client that disconnects before an answer is neither an answer nor a failure", async () => {
  let arrived: (() => void) | undefined;
  const reached = new Promise<void>((resolve) => {
    arrived = resolve;
  });
  first.script = () => arrived?.();
  const leaving = request({ port: listener.port, method: "POST", path: "/v1/chat/completions" });
  leaving.on("error", () => undefined);
  leaving.end('{"model":"m"}');
  await reached;
  assert.equal(statistics.read("first")?.inFlight, 1);
  leaving.destroy();
  assert.equal((await settled("first")).state, "idle");
});

/** Returns the status that refused a session. */
async function refusedSession(): Promise<number> {
  const session = new WebSocket(`ws://127.0.0.1:${listener.port}/v1/realtime?model=m`);
  const [, response] = await once(session, "unexpected-response");
  session.on("error", () => undefined); // from the aborted handshake
  session.terminate();
  return response.statusCode;
}

for (const [title, script, status, failure] of [
  ["refuses", (socket: Socket) => reply(socket, { status: 503 }), 503, ["5xx", 503, 1, null]],
  ["breaks off", (socket: Socket) => socket.destroy(), 502, ["connect", null, 1, null]],
] as const) {
  test(`a session that the provider ${title} is a failed attempt`, async () => {
    first.script = (socket) => void script(socket);
    assert.equal(await refusedSession(), status);
    assert.equal((await settled("first")).errorRatio, 1);
    assert.deepEqual(
      statistics.failures("first")?.map((it) => [it.kind, it.status, it.attempt, it.movedTo]),
      [failure],
    );
  });
}

test("a session counts as answered once it is open, and is in flight until it ends", async () => {
  first.script = (socket, { headers }) => {
    const key = headers.find(([name]) => name.toLowerCase() === "sec-websocket-key")?.[1] ?? "";
    const accept = createHash("sha1").update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest("base64");
    const lines = ["HTTP/1.1 101 Switching", "Upgrade: websocket", "Connection: Upgrade"];
    socket.write(`${lines.join("\r\n")}\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`);
  };
  const session = new WebSocket(`ws://127.0.0.1:${listener.port}/v1/realtime?model=m`);
  await once(session, "open");
  const open = statistics.read("first");
  assert.deepEqual([open?.inFlight, open?.errorRatio, open?.firstByteP50 === null], [1, 0, false]);
  session.terminate();
  await settled("first");
});
