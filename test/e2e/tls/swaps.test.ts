/** Ten new certificates under load: nobody's request fails, and nothing that is open is closed. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import { Agent, request } from "node:https";
import { text } from "node:stream/consumers";
import { test } from "node:test";
import { WebSocket } from "ws";
import { twoDialects } from "../support/config.ts";
import { listenLocally } from "../support/ports.ts";
import { simulated } from "../support/simulated.ts";
import { atEnd, eventually, within } from "../support/wait.ts";
import { handshake, startSecure } from "./support.ts";

/** More for a long campaign. */
const SWAPS = Number(process.env["GATEWAY_TLS_SWAPS"] ?? 10);
const CONNECTIONS = 16;
const CHAT = "/v1/chat/completions";

test("certificates are swapped under load without a failed request or a closed stream, and a stop drains", async (t) => {
  const provider = await simulated(t);
  let held: ServerResponse | undefined;
  const holding = createServer((message, response) => {
    message.resume();
    response.writeHead(200, { "content-type": "text/event-stream" }).write("data: {}\n\n");
    held = response;
  });
  const heldPort = await listenLocally(holding);
  atEnd(t, () => void holding.close());
  const gateway = await startSecure(
    t,
    {
      catalog_overlays: [twoDialects("simulator", provider.url)],
      providers: [
        { preset: "simulator", models: ["sim-*"] },
        { name: "holding", dialect: "compat", base_url: `http://127.0.0.1:${heldPort}/v1`, models: ["held"] },
      ],
    },
    {},
    { GATEWAY_DRAIN: "20s" },
  );
  const { port, authority, secureUrl } = gateway;
  const ca = authority.root;
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS, ca });
  const own = new Agent({ ca });
  t.after(() => agent.destroy());
  t.after(() => own.destroy());

  const ask = async (body: object, by: Agent) => {
    const sent = request(`${secureUrl}${CHAT}`, { method: "POST", agent: by });
    sent.setHeader("content-type", "application/json");
    sent.end(JSON.stringify({ messages: [{ role: "user", content: "hello" }], ...body }));
    const [response] = await once(sent, "response");
    return response;
  };
  const whole = async (): Promise<void> => {
    const response = await ask({ model: "sim-small" }, agent);
    const answer = await text(response);
    assert.equal(response.statusCode, 200, answer);
    assert.match(answer, /"finish_reason":"stop"/);
  };

  const only = { ca, servername: "localhost", minVersion: "TLSv1.2", maxVersion: "TLSv1.2" } as const;
  const before = await handshake(t, port, only);
  const session = before.getSession() ?? Buffer.alloc(0);
  const stream = await within("the stream", ask({ model: "held", stream: true }, own));
  const streamed = text(stream);
  const socket = new WebSocket(`${secureUrl.replace("https", "wss")}/v1/realtime?model=sim-realtime`, { ca });
  t.after(() => socket.terminate());
  await within("the session", once(socket, "open"));

  let isSwapping = true;
  let requests = 0;
  const from = performance.now();
  const load = Promise.all(
    Array.from({ length: CONNECTIONS }, async () => {
      while (isSwapping) {
        await whole();
        requests += 1;
      }
    }),
  );
  const serials = new Set<string>();
  const swapping = async (): Promise<void> => {
    for (let swap = 0; swap < SWAPS; swap++) {
      await gateway.rotate();
      const fresh = await handshake(t, port, { ca, servername: "localhost" });
      serials.add(fresh.getPeerCertificate().serialNumber);
      fresh.destroy();
    }
  };
  await Promise.race([swapping(), load]).finally(() => {
    isSwapping = false;
  });
  await load;
  t.diagnostic(`${requests} requests, ${Math.round((requests * 1_000) / (performance.now() - from))} a second`);
  assert.equal(serials.size, SWAPS);
  assert.ok(requests > CONNECTIONS);
  assert.equal((await handshake(t, port, { ...only, session })).isSessionReused(), true);
  const event = once(socket, "message");
  socket.send(JSON.stringify({ type: "response.create" }));
  await within("an event of the session", event);
  socket.close();

  gateway.signal("SIGTERM");
  await gateway.logged("stopping; running requests may finish, a second signal ends at once");
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
