/**
 * Gateways restarted one after the other, without any effect on clients.
 *
 * `GATEWAY_ROLLING_REQUESTS` sets the minimum number of requests.
 */
import assert from "node:assert/strict";
import { Agent, createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import { test } from "node:test";
import { type Gateway, startGateway } from "./support/gateway.ts";
import { freePort, listenLocally } from "./support/ports.ts";
import { atEnd, within } from "./support/wait.ts";

const CHAT = "/v1/chat/completions";
const CUT = "closed connections that were still open at the end of the drain";
const GOOD_END = { status: 0, signal: null };

/** Connection habits of clients. Each tries the next gateway if a connect is refused, and retries nothing else. */
const HABITS = {
  "connections kept alive": () => new Agent({ keepAlive: true }),
  "connections kept alive, the one idle longest first": () => new Agent({ keepAlive: true, scheduling: "fifo" }),
  "a connection for each request": () => new Agent({ keepAlive: false }),
} as const;

test("clients that only retry refused connections see no failure while three gateways restart one by one", async (t) => {
  const wanted = Number(process.env["GATEWAY_ROLLING_REQUESTS"] ?? "1000");
  const server = createServer(answerSlowly);
  const port = await listenLocally(server);
  atEnd(t, () => {
    server.closeAllConnections();
    server.close();
  });
  const ports = [await freePort(), await freePort(), await freePort()];
  const launch = (at: number): Promise<Gateway> =>
    startGateway(t, {
      args: ["-listen", `127.0.0.1:${ports[at]}`, "-metrics-listen", "none", "-upstream", `http://127.0.0.1:${port}`],
      env: { GATEWAY_DRAIN: "5s" },
    });
  const gateways = await Promise.all(ports.map((_, at) => launch(at)));
  const failures: string[] = [];
  let served = 0;
  let refused = 0;
  let restarts = 0;
  let isOver = false;
  const clients = Object.entries(HABITS).flatMap(([habit, agentOf]) => {
    const agent = agentOf();
    atEnd(t, () => agent.destroy());
    return [0, 1, 2].map(async (lane) => {
      for (let turn = lane; !isOver; turn++) {
        try {
          await ask(agent, ports[turn % ports.length] as number, turn % 3 === 0);
          served++;
        } catch (error) {
          if ((error as NodeJS.ErrnoException).code === "ECONNREFUSED") refused++;
          else
            failures.push(
              `${habit}: ${error instanceof Error ? error.message : String(error)} ${(error as NodeJS.ErrnoException).syscall}`,
            );
        }
      }
    });
  });
  while (restarts < ports.length || served < wanted) {
    const at = restarts % ports.length;
    const old = gateways[at] as Gateway;
    old.signal("SIGTERM");
    assert.deepEqual(await within("the exit", old.ended), GOOD_END);
    assert.ok(!old.log().some(({ message }) => message === CUT), "nothing was cut off");
    gateways[at] = await launch(at);
    restarts++;
  }
  isOver = true;
  await Promise.all(clients);
  t.diagnostic(`${served} requests over ${restarts} restarts, ${refused} connects refused`);
  assert.deepEqual(failures, []);
});

/** Answers with a stream of some frames or a whole answer, as requested. */
function answerSlowly(incoming: IncomingMessage, response: ServerResponse): void {
  let body = "";
  incoming.setEncoding("utf8").on("data", (text: string) => {
    body += text;
  });
  incoming.once("end", () => {
    if (!JSON.parse(body).stream) {
      response.writeHead(200, { "content-type": "application/json" }).end('{"whole":true}');
      return;
    }
    response.writeHead(200, { "content-type": "text/event-stream" });
    let left = 5;
    const timer = setInterval(() => {
      response.write("data: {}\n\n");
      if (--left > 0) return;
      clearInterval(timer);
      response.end("data: [DONE]\n\n");
    }, 5);
    response.once("close", () => clearInterval(timer));
  });
}

/** Rejects unless the answer is complete. */
function ask(agent: Agent, port: number, streams: boolean): Promise<void> {
  const body = JSON.stringify({ model: "m", stream: streams });
  const headers = { "content-type": "application/json", "content-length": Buffer.byteLength(body) };
  return new Promise((done, fail) => {
    const asked = request({ agent, port, host: "127.0.0.1", method: "POST", path: CHAT, headers }, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (chunk: string) => {
        text += chunk;
      });
      response.once("error", fail);
      response.once("end", () => {
        const whole = streams ? text.endsWith("data: [DONE]\n\n") : text === '{"whole":true}';
        if (response.statusCode === 200 && whole) done();
        else fail(new Error(`${response.statusCode} ${text}`));
      });
    });
    asked.once("error", fail);
    asked.end(body);
  });
}
