/**
 * Calls a guarded agent with the official A2A client: `node a2a-guarded.mjs PEER URL`. Prints one line of JSON per
 * step: `[step, result]`.
 */
import { createRequire } from "node:module";

const [, , peer, url] = process.argv;
const load = createRequire(peer);
const { AgentCard, SendMessageRequest } = load("@a2a-js/sdk");
const { ClientFactory } = load("@a2a-js/sdk/client");

const card = AgentCard.fromJSON({
  name: "x",
  description: "x",
  version: "1",
  supportedInterfaces: [{ url, protocolBinding: "JSONRPC", protocolVersion: "1.0" }],
  capabilities: { streaming: true, pushNotifications: true },
  defaultInputModes: ["text/plain"],
  defaultOutputModes: ["text/plain"],
  skills: [],
});
const client = await new ClientFactory().createFromAgentCard(card);
const seenOf = ({ name, code, message }) => ({ name, code, message });
const report = async (what, run) => {
  const seen = await run().catch((error) => ({ error: seenOf(error) }));
  console.log(JSON.stringify([what, seen]));
};
let made = 0;
const asking = (text, configuration) =>
  SendMessageRequest.fromJSON({
    message: { messageId: `c-${made++}`, role: "ROLE_USER", parts: [{ text }] },
    ...(configuration && { configuration }),
  });
const textsIn = (value) => {
  if (Array.isArray(value)) return value.flatMap(textsIn);
  if (typeof value !== "object" || value === null) return [];
  return value.$case === "text" ? [value.value] : Object.values(value).flatMap(textsIn);
};
const send = async (text, configuration) => textsIn(await client.sendMessage(asking(text, configuration)));
const artifacts = async (text) => {
  const texts = [];
  try {
    for await (const event of client.sendMessageStream(asking(text))) {
      if (JSON.stringify(event).includes("artifactId")) texts.push(...textsIn(event));
    }
  } catch (error) {
    return { texts, error: seenOf(error) };
  }
  return { texts };
};

await report("message", () => send("hello"));
await report("redacted", () => send("mail ada@example.com"));
await report("denied answer", () => send("number 536-90-4399"));
await report("denied request", () => send("key AKIAZ3PXQ7LMWT5RKD4B"));
await report("stream", () => artifacts("relay|one|two|three"));
await report("redacted stream", () => artifacts("relay|one|mail ada@example.com|three"));
await report("denied stream", () => artifacts("relay|one|number 536~90~4399|three"));
await report("push", () =>
  send("hello", { taskPushNotificationConfig: { url: "https://elsewhere.example/hook", token: "t" } }),
);
await report("afterwards", () => send("hello again"));
