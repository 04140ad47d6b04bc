/**
 * Results of the official A2A client with the simulated agent: `node a2a-client.mjs PEER URL`. Prints one line of JSON
 * for each feature.
 */
import { createRequire } from "node:module";

const [, , peer, url, authorization] = process.argv;
const load = createRequire(peer);
const { SendMessageRequest, verifyAgentCardSignature, TaskState } = load("@a2a-js/sdk");
const { ClientFactory } = load("@a2a-js/sdk/client");

const options = { serviceParameters: authorization ? { authorization } : {} };
const report = async (feature, run) => {
  try {
    console.log(JSON.stringify([feature, await run()]));
  } catch ({ name, message }) {
    console.log(JSON.stringify([feature, { error: { name, message } }]));
  }
};
const client = await new ClientFactory().createFromUrl(`${url}/`);
let made = 0;
const message = (text, facts = {}) =>
  SendMessageRequest.fromJSON({
    message: { messageId: `c-${made++}`, role: "ROLE_USER", parts: [{ text }], ...facts },
  });
const within = (answer) => answer.payload?.value ?? answer;
const send = async (text, facts) => within(await client.sendMessage(message(text, facts), options));
const stateOf = ({ status }) => TaskState[status.state] ?? status.state;
const all = async (stream) => {
  const events = [];
  for await (const event of stream) events.push(event.payload?.$case ?? Object.keys(event)[0]);
  return events;
};

await report("card", async () => (await client.getAgentCard()).name);
await report("message", async () => (await send("Hello!")).parts[0].content.value);
await report("report", async () => {
  const task = await send("report 2 5");
  return [stateOf(task), task.artifacts[0].parts.length];
});
await report("stream", () => all(client.sendMessageStream(message("report 2 5"), options)));
await report("book", async () => {
  const { id: taskId, contextId, status } = await send("book a table");
  const done = await send("four", { taskId, contextId });
  return [stateOf({ status }), stateOf(done)];
});
await report("cancel", async () => {
  const stream = client.sendMessageStream(message("report 1 60000"), options);
  const { id } = within((await stream.next()).value);
  const cancelled = await client.cancelTask({ id, tenant: "" }, options);
  await all(stream);
  return stateOf(cancelled);
});
await report("unknown task", () => client.getTask({ id: "nope", tenant: "" }, options));
if (authorization === undefined || authorization === "") {
  const verified = (path) => async () => {
    const card = await (await fetch(new URL(path, url))).json();
    const keyOf = async (_, jku) => (await (await fetch(jku)).json()).keys[0];
    await verifyAgentCardSignature(keyOf)(card);
    return "genuine";
  };
  await report("signed", verified("/a2a/sim-signed/.well-known/agent-card.json"));
  await report("tampered", verified("/a2a/sim-tampered/.well-known/agent-card.json"));
}
