/**
 * An agent made with the official A2A SDK: `node a2a-agent.mjs PEER`. The message text selects its behavior: `task`,
 * `stream`, `relay` (repeats the text behind it piece by piece, with `-` for `~`), `slow` (until it is canceled),
 * `ask`, `data`, `fail`; any other text is echoed. Prints its address.
 */
import { randomUUID } from "node:crypto";
import { createRequire } from "node:module";
import { setTimeout as after } from "node:timers/promises";

const [, , peer] = process.argv;
const load = createRequire(peer);
const express = load("express");
const { AgentCard, Message, Task, TaskArtifactUpdateEvent, TaskStatusUpdateEvent } = load("@a2a-js/sdk");
const { AgentEvent, DefaultRequestHandler, InMemoryTaskStore } = load("@a2a-js/sdk/server");
const { agentCardHandler, jsonRpcHandler, UserBuilder } = load("@a2a-js/sdk/server/express");

const cancelled = new Set();

class Agent {
  async execute({ userMessage, taskId, contextId, task }, bus) {
    const received = userMessage.parts.map(({ content }) => (content?.$case === "text" ? content.value : "")).join("");
    const ids = { taskId, contextId };
    const now = () => new Date().toISOString();
    const status = (state, text) =>
      bus.publish(
        AgentEvent.statusUpdate(
          TaskStatusUpdateEvent.fromJSON({
            ...ids,
            status: {
              state: `TASK_STATE_${state}`,
              timestamp: now(),
              ...(text && {
                message: { messageId: randomUUID(), role: "ROLE_AGENT", ...ids, parts: [{ text }] },
              }),
            },
          }),
        ),
      );
    const artifact = (parts, facts = {}) =>
      bus.publish(
        AgentEvent.artifactUpdate(
          TaskArtifactUpdateEvent.fromJSON({ ...ids, artifact: { artifactId: "a1", name: "result", parts }, ...facts }),
        ),
      );
    const begin = () => {
      if (task !== undefined) return;
      const first = { id: taskId, contextId, status: { state: "TASK_STATE_SUBMITTED", timestamp: now() } };
      bus.publish(AgentEvent.task(Task.fromJSON({ ...first, history: [Message.toJSON(userMessage)] })));
    };
    if (received.startsWith("fail")) throw new Error("the agent failed");
    if (!/^(?:task|stream|relay|slow|ask|data)/.test(received) && task === undefined) {
      const parts = [{ text: `you said ${received}` }, { data: { parts: userMessage.parts.length } }];
      bus.publish(AgentEvent.message(Message.fromJSON({ messageId: "m-1", role: "ROLE_AGENT", contextId, parts })));
      bus.finished();
      return;
    }
    begin();
    status("WORKING", "I am at it");
    if (received.startsWith("slow")) {
      while (!cancelled.has(taskId)) {
        artifact([{ text: "." }], { append: true });
        await after(50);
      }
      status("CANCELED");
      bus.finished();
      return;
    }
    if (received.startsWith("ask")) {
      status("INPUT_REQUIRED", "which one?");
      bus.finished();
      return;
    }
    if (received.startsWith("relay")) {
      for (const [at, text] of received.replaceAll("~", "-").split("|").slice(1).entries()) {
        artifact([{ text }], { append: at > 0 });
        await after(20);
      }
      status("COMPLETED");
      bus.finished();
      return;
    }
    for (const text of received.startsWith("stream") ? ["one ", "two ", "three"] : ["done"]) {
      artifact([{ text }], {
        append: text !== "one " && text !== "done",
        lastChunk: text === "three" || text === "done",
      });
      await after(20);
    }
    if (received.startsWith("data")) {
      artifact([
        { data: { k: [1, null, "x"] } },
        { url: "https://files.example/x.pdf", filename: "x.pdf", mediaType: "application/pdf" },
        { raw: "aGk=", filename: "h.txt", mediaType: "text/plain" },
      ]);
    }
    status("COMPLETED");
    bus.finished();
  }

  async cancelTask(taskId) {
    cancelled.add(taskId);
  }
}

const app = express();
const server = app.listen(0, "127.0.0.1", () => {
  const url = `http://127.0.0.1:${server.address().port}/rpc`;
  const card = {
    name: "Fixture",
    description: "Says it again",
    version: "1.0.0",
    supportedInterfaces: [{ url, protocolBinding: "JSONRPC", protocolVersion: "1.0" }],
    capabilities: { streaming: true, pushNotifications: false },
    defaultInputModes: ["text/plain"],
    defaultOutputModes: ["text/plain"],
    skills: [{ id: "say", name: "Say", description: "Says it again", tags: ["test"] }],
  };
  const requestHandler = new DefaultRequestHandler(AgentCard.fromJSON(card), new InMemoryTaskStore(), new Agent());
  app.use("/.well-known/agent-card.json", agentCardHandler({ agentCardProvider: async () => card }));
  app.use("/rpc", jsonRpcHandler({ requestHandler, userBuilder: UserBuilder.noAuthentication }));
  console.log(url);
});
