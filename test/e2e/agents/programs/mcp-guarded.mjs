/**
 * Calls a guarded server with the official MCP client: `node mcp-guarded.mjs PEER URL`. Prints one line of JSON per
 * step: `[step, result]`.
 */
import { createRequire } from "node:module";

const [, , peer, url] = process.argv;
const { Client, StreamableHTTPClientTransport } = createRequire(peer)("@modelcontextprotocol/client");

const client = new Client(
  { name: "the-client", version: "1.0.0" },
  { capabilities: {}, versionNegotiation: { mode: { pin: "2026-07-28" } } },
);
const report = async (what, run) => {
  let seen;
  try {
    seen = await run();
  } catch (error) {
    const { name, code, message, data } = error;
    seen = { error: { name, code, message, data, isError: error instanceof Error } };
  }
  console.log(JSON.stringify([what, seen]));
};
const logged = [];
client.setNotificationHandler("notifications/message", ({ params }) => void logged.push(params.data));
const callText = async (name, args) => {
  logged.length = 0;
  const _meta = { "io.modelcontextprotocol/logLevel": "info" };
  const { content } = await client.callTool({ name, arguments: args, _meta });
  return { text: content[0].text, logged: [...logged] };
};

await client.connect(new StreamableHTTPClientTransport(new URL(url)));
await report("list", async () => (await client.listTools()).tools.map(({ name }) => name));
await report("plain", () => callText("echo", { said: "hello" }));
await report("redacted", () => callText("echo", { said: "mail ada@example.com" }));
await report("denied result", () => callText("echo", { said: "number 536-90-4399" }));
await report("denied argument", () => callText("echo", { said: "key AKIAZ3PXQ7LMWT5RKD4B" }));
await report("redacted stream", () => callText("relay", { pieces: ["one", "mail ada@example.com", "three"] }));
await report("denied stream", async () => {
  const error = await callText("relay", { pieces: ["one", "number 536-90-4399", "three"] }).catch(
    ({ name, code, message }) => ({ name, code, message }),
  );
  return { error, logged: [...logged] };
});
await report("afterwards", () => callText("echo", { said: "hello again" }));
await client.close();
