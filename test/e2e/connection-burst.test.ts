/** Many clients that connect at once, as after a restart: the system keeps their connections until the gateway accepts them. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { test } from "node:test";
import { writeFiles } from "./support/config.ts";
import { startGateway } from "./support/gateway.ts";
import { post } from "./support/raw.ts";
import { reply, scriptedUpstream } from "./support/upstream.ts";
import { atEnd, eventually } from "./support/wait.ts";

const CLIENTS = 800;
const CHAT = post("/v1/chat/completions", '{"model":"sound"}');

const maxBacklog = process.platform === "linux" ? Number(readFileSync("/proc/sys/net/core/somaxconn", "latin1")) : 0;
const skip = maxBacklog < CLIENTS && `the system keeps at most ${maxBacklog} connections of a listener`;

for (const workers of ["1", "2"]) {
  test(`${CLIENTS} clients connect while nothing is accepted, and all are answered, workers: ${workers}`, {
    skip,
  }, async (t) => {
    const upstream = await scriptedUpstream(t);
    upstream.script = (socket) => reply(socket, { headers: ["Content-Type: application/json"] });
    const files = await writeFiles(
      t,
      { providers: [{ name: "only", dialect: "compat", base_url: `${upstream.url}/v1` }], default_provider: "only" },
      { listen: "127.0.0.1:0" },
    );
    const gateway = await startGateway(t, { args: ["-config", files.nodePath], env: { GATEWAY_WORKERS: workers } });
    gateway.signal("SIGSTOP");
    atEnd(t, () => gateway.signal("SIGCONT"));
    let connected = 0;
    const answers: string[] = [];
    const sockets = Array.from({ length: CLIENTS }, (_, at): Socket => {
      const socket = connect(gateway.port, gateway.host);
      let text = "";
      socket.once("connect", () => {
        connected += 1;
      });
      socket.setEncoding("latin1").on("data", (part: string) => {
        text += part;
        answers[at] = text.slice(9, 12);
      });
      socket.on("error", ({ message }) => {
        answers[at] = message;
      });
      socket.write(CHAT);
      return socket;
    });
    atEnd(t, () => {
      for (const socket of sockets) socket.destroy();
    });
    await eventually("all clients are connected", () => connected === CLIENTS);
    gateway.signal("SIGCONT");
    await eventually("all are answered", () => answers.filter(() => true).length === CLIENTS);
    assert.deepEqual(new Set(answers), new Set(["200"]));
  });
}
