/**
 * Results of the official MCP client with the simulated server: `node mcp-client.mjs PEER URL`. Prints one line of JSON
 * for each feature.
 */
import { createRequire } from "node:module";

const [, , peer, url, authorization] = process.argv;
const { Client, StreamableHTTPClientTransport } = createRequire(peer)("@modelcontextprotocol/client");

const client = new Client(
  { name: "the-client", version: "1.0.0" },
  { capabilities: { elicitation: { form: {} }, sampling: {} }, versionNegotiation: { mode: { pin: "2026-07-28" } } },
);
client.setRequestHandler("elicitation/create", () => ({ action: "accept", content: { people: 4 } }));
client.setRequestHandler("sampling/createMessage", ({ params }) => ({
  model: "m",
  role: "assistant",
  content: { type: "text", text: `summed up: ${params.messages[0].content.text}` },
}));

const report = async (feature, run) => {
  try {
    console.log(JSON.stringify([feature, await run()]));
  } catch ({ name, code, message }) {
    console.log(JSON.stringify([feature, { error: { name, code, message } }]));
  }
};
const call = (name, args, options) => client.callTool({ name, arguments: args }, options);

const requestInit = authorization ? { headers: { authorization } } : {};
await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit }));
await report("server", () => client.getServerVersion().name);
await report("tools", async () => (await client.listTools()).tools.map(({ name }) => name));
await report("resources", async () => (await client.listResources()).resources.map(({ uri }) => uri));
await report("templates", async () => (await client.listResourceTemplates()).resourceTemplates.length);
await report("prompts", async () => (await client.listPrompts()).prompts.map(({ name }) => name));
await report("search", async () => (await call("search", { query: "gateways", limit: 3 })).content.length);
await report("weather", async () => (await call("weather", { city: "Köln" })).structuredContent);
await report("delete_file", async () => (await call("delete_file", { path: "/etc/passwd" })).content[0].text);
await report("picture", async () => (await call("picture", {})).content[0].mimeType);
await report("read", async () => (await client.readResource({ uri: "sim://logo" })).contents[0].mimeType);
await report("prompt", async () => (await client.getPrompt({ name: "greet" })).messages[0].content.text);
await report("book_table", async () => (await call("book_table", { restaurant: "Chez Nous" })).content[0].text);
await report("summarize", async () => (await call("summarize", { text: "long" })).content[0].text);
await report("report", async () => {
  const seen = [];
  const { content } = await call("report", { topic: "x", step_ms: 5 }, { onprogress: (one) => seen.push(one.message) });
  return [...seen, content[0].text];
});
await report("listening", async () => {
  let done;
  const notified = new Promise((resolve) => {
    done = resolve;
  });
  client.setNotificationHandler("notifications/resources/updated", ({ params }) => done(params.uri));
  const subscription = await client.listen({ resourceSubscriptions: ["sim://notes/today"] });
  await call("touch", { uri: "sim://notes/today" });
  const uri = await notified;
  await subscription.close();
  return uri;
});
await report("unknown tool", () => call("nobody", {}));
await client.close();
