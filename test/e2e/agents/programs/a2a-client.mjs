/**
 * Calls an agent with the official A2A client, feature by feature: `node a2a-client.mjs PEER URL AUTHORIZATION`. Prints
 * one line of JSON for each: `[feature, result]`. Ids and times made by the agent are replaced by their type.
 */
import { createRequire } from "node:module";

const [, , peer, url, authorization] = process.argv;
const load = createRequire(peer);
const { AgentCard, ListTasksRequest, SendMessageRequest } = load("@a2a-js/sdk");
const { ClientFactory } = load("@a2a-js/sdk/client");

const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g;
const TIME = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g;
const print = (feature, result) =>
  console.log(JSON.stringify([feature, result]).replaceAll(UUID, "<id>").replaceAll(TIME, "<time>"));
const report = async (feature, run) => {
  try {
    print(feature, await run());
  } catch (error) {
    const { name, code, message, envelope } = error;
    print(feature, { error: { name, code, message: message.replaceAll(url, "<url>"), envelope } });
  }
};

const card = AgentCard.fromJSON({
  name: "x",
  description: "x",
  version: "1",
  supportedInterfaces: [{ url, protocolBinding: "JSONRPC", protocolVersion: "1.0" }],
  capabilities: { streaming: true },
  defaultInputModes: ["text/plain"],
  defaultOutputModes: ["text/plain"],
  skills: [],
});
const client = await new ClientFactory().createFromAgentCard(card);
const serviceParameters = { cookie: "a=b", ...(authorization && { authorization }) };
const options = { serviceParameters };
let made = 0;
const message = (text, facts = {}) =>
  SendMessageRequest.fromJSON({
    message: { messageId: `c-${made++}`, role: "ROLE_USER", parts: [{ text }], ...facts },
  });
const send = (text, facts) => client.sendMessage(message(text, facts), options);
const all = async (stream) => {
  const events = [];
  for await (const event of stream) events.push(event);
  return events;
};

await report("message", () => send("hello Größe 地図 \u{1f680}"));
await report("parts", () =>
  send("", {
    parts: [
      { text: "a" },
      { data: { k: [1, null] } },
      { url: "https://files.example/x.pdf", mediaType: "application/pdf", filename: "x.pdf" },
      { raw: "aGk=", mediaType: "text/plain" },
    ],
    metadata: { trace: "t" },
    extensions: ["https://example.com/ext"],
  }),
);
await report("task", () => send("task"));
await report("data", () => send("data"));
await report("failure", () => send("fail"));
await report("stream", () => all(client.sendMessageStream(message("stream"), options)));
await report("stream of one message", () => all(client.sendMessageStream(message("hello"), options)));
const asked = await send("ask");
const { id, contextId } = asked.payload?.value ?? asked.task ?? asked;
await report("get", () => client.getTask({ id, tenant: "" }, options));
await report("answered", () => send("task", { taskId: id, contextId }));
await report("list", () =>
  client.listTasks(ListTasksRequest.fromJSON({ contextId, pageSize: 10, status: "TASK_STATE_UNSPECIFIED" }), options),
);
await report("unknown task", () => client.getTask({ id: "nope", tenant: "" }, options));
await report("cancel what has ended", () => client.cancelTask({ id, tenant: "" }, options));
await report("subscribe to what has ended", () => all(client.resubscribeTask({ id, tenant: "" }, options)));
await report("cancel while two listen", async () => {
  const first = client.sendMessageStream(message("slow"), options);
  const begun = (await first.next()).value;
  const slow = (begun.payload?.value ?? begun.task ?? begun).id;
  const second = client.resubscribeTask({ id: slow, tenant: "" }, options);
  const again = (await second.next()).value;
  const cancelled = await client.cancelTask({ id: slow, tenant: "" }, options);
  const ends = [(await all(first)).at(-1), (await all(second)).at(-1)];
  return { begun, again: Object.keys(again), state: cancelled.status?.state, ends };
});
await report("a client that leaves", async () => {
  const leaving = new AbortController();
  const stream = client.sendMessageStream(message("slow"), { ...options, signal: leaving.signal });
  const begun = (await stream.next()).value;
  const slow = (begun.payload?.value ?? begun.task ?? begun).id;
  leaving.abort();
  await all(stream).catch(() => undefined);
  const { status } = await client.getTask({ id: slow, tenant: "" }, options);
  await client.cancelTask({ id: slow, tenant: "" }, options);
  return status.state;
});
