/** Ten new certificates under load: no request fails, and nothing open is closed. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import { Agent, request } from "node:https";
import { text } from "node:stream/consumers";
import { test } from "node:test";
import { WebSocket } from "ws";
import type { SteadyJob, SteadyResult } from "../../bench/child/steady-load.ts";
import { startAsked, startPiece } from "../../bench/parts/children.ts";
import { compilePieces } from "../../bench/parts/compile.ts";
import { randomRuns } from "../../support/random-length.ts";
import { twoDialects } from "../support/config.ts";
import { listenLocally } from "../support/ports.ts";
import { simulated } from "../support/simulated.ts";
import { atEnd, eventually, within } from "../support/wait.ts";
import { handshake, sessionOf, startSecure } from "./support.ts";

/** A long run uses more. */
const SWAPS = Number(process.env["GATEWAY_TLS_SWAPS"] ?? randomRuns(10, 4));
const PER_SECOND = Number(process.env["GATEWAY_TLS_RATE"] ?? randomRuns(1_000, 300));
const CONNECTIONS = 64;
/** Duration of one load; another follows while there are certificates left. */
const SECONDS = 5;
const CHAT = "/v1/chat/completions";

test("certificates are replaced under load without a failed request or closed stream, and a stop drains", async (t) => {
  const pieces = await compilePieces();
  const [upstream, load] = [
    await startPiece(pieces.upstream, []),
    startAsked<SteadyJob, SteadyResult>(pieces.steadyLoad),
  ];
  atEnd(t, () => Promise.all([upstream.stop(), load.stop()]));
  let held: ServerResponse | undefined;
  const holding = createServer((message, response) => {
    message.resume();
    response.writeHead(200, { "content-type": "text/event-stream" }).write("data: {}\n\n");
    held = response;
  });
  const heldPort = await listenLocally(holding);
  atEnd(t, () => void holding.close());
  const provider = await simulated(t);
  const gateway = await startSecure(
    t,
    {
      catalog_overlays: [twoDialects("simulator", provider.url)],
      providers: [
        { preset: "simulator", models: ["sim-*"] },
        { name: "bench", dialect: "compat", base_url: `http://127.0.0.1:${upstream.port}/v1`, models: ["bench-*"] },
        { name: "holding", dialect: "compat", base_url: `http://127.0.0.1:${heldPort}/v1`, models: ["held"] },
      ],
    },
    {},
    { GATEWAY_DRAIN: "20s" },
  );
  const { port, authority, secureUrl } = gateway;
  const ca = authority.root;
  const own = new Agent({ ca });
  t.after(() => own.destroy());
  const trusting = { ca, servername: "localhost" };
  const sessions = await Promise.all(
    (["TLSv1.2", "TLSv1.3"] as const).map((version) => sessionOf(t, port, trusting, version)),
  );

  const sent = request(`${secureUrl}${CHAT}`, { method: "POST", agent: own });
  sent.setHeader("content-type", "application/json");
  sent.end(JSON.stringify({ model: "held", stream: true, messages: [{ role: "user", content: "hello" }] }));
  const [stream] = await within("the stream", once(sent, "response"));
  const streamed = text(stream);
  const socket = new WebSocket(`${secureUrl.replace("https", "wss")}/v1/realtime?model=sim-realtime`, { ca });
  t.after(() => socket.terminate());
  await within("the session", once(socket, "open"));

  let isSwapping = true;
  let answered = 0;
  let longestUs = 0;
  const from = performance.now();
  const loading = async (): Promise<void> => {
    const shape = { kind: "unary", model: "bench-model" } as const;
    while (isSwapping) {
      const job = { port, root: ca, shape, perSecond: PER_SECOND, seconds: SECONDS, connections: CONNECTIONS };
      const result = await load.ask(job);
      assert.ok(result.kind === "done", JSON.stringify(result));
      assert.equal(result.failures, 0, JSON.stringify(result));
      answered += result.answered;
      longestUs = Math.max(longestUs, result.longestUs);
    }
  };
  const before = await handshake(t, port, trusting);
  const serials = new Set([before.getPeerCertificate().serialNumber]);
  before.destroy();
  const swapping = async (): Promise<void> => {
    for (let swap = 0; swap < SWAPS; swap++) {
      await gateway.rotate();
      // Each data plane process loads it within moments.
      await eventually("another certificate", async () => {
        const fresh = await handshake(t, port, trusting);
        const { serialNumber } = fresh.getPeerCertificate();
        fresh.destroy();
        const isNew = !serials.has(serialNumber);
        serials.add(serialNumber);
        return isNew;
      });
      for (const session of sessions) {
        const resumed = await handshake(t, port, session);
        assert.equal(resumed.isSessionReused(), true);
        resumed.destroy();
      }
    }
  };
  await Promise.all([
    loading(),
    swapping().finally(() => {
      isSwapping = false;
    }),
  ]);
  const perSecond = Math.round((answered * 1_000) / (performance.now() - from));
  t.diagnostic(`${answered} requests, ${perSecond} a second, the longest took ${Math.round(longestUs / 1_000)} ms`);
  assert.equal(serials.size, 1 + SWAPS);
  assert.ok(answered >= PER_SECOND * SECONDS);
  const event = once(socket, "message");
  socket.send(JSON.stringify({ type: "response.create" }));
  await within("an event of the session", event);
  socket.close();

  gateway.signal("SIGTERM");
  await gateway.logged("stopping: waiting for requests in flight; a second signal ends the process at once");
  await eventually("closed doors", () =>
    handshake(t, port, { ca }).then(
      () => false,
      () => true,
    ),
  );
  held?.end('data: {"last":true}\n\ndata: [DONE]\n\n');
  assert.match(await within("the end of the stream", streamed), /"last":true\}\n\ndata: \[DONE\]\n\n$/);
  assert.deepEqual(await within("the exit", gateway.ended), { status: 0, signal: null });
});
