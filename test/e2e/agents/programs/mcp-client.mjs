/**
 * Calls a server with the official MCP client, feature by feature: `node mcp-client.mjs PEER URL AUTHORIZATION`. Prints
 * one line of JSON for each: `[feature, result]`.
 */
import { createRequire } from "node:module";

const [, , peer, url, authorization] = process.argv;
const { Client, StreamableHTTPClientTransport } = createRequire(peer)("@modelcontextprotocol/client");

const client = new Client(
  { name: "the-client", version: "1.0.0" },
  {
    capabilities: { elicitation: { form: {} }, sampling: {}, roots: {} },
    versionNegotiation: { mode: { pin: "2026-07-28" } },
  },
);
const ANSWERS = { name: "bo", color: "green", ok: true, context: "tests" };
client.setRequestHandler("elicitation/create", ({ params }) => {
  const [wanted] = Object.keys(params.requestedSchema.properties);
  return { action: "accept", content: { [wanted]: ANSWERS[wanted] } };
});
client.setRequestHandler("sampling/createMessage", ({ params }) => ({
  model: "m",
  role: "assistant",
  content: { type: "text", text: `answer to: ${params.messages[0].content.text}` },
}));
client.setRequestHandler("roots/list", () => ({ roots: [{ uri: "file:///work", name: "work" }] }));

const print = (feature, result) => console.log(JSON.stringify([feature, result]));
const report = async (feature, run) => {
  try {
    print(feature, await run());
  } catch (error) {
    const { name, code, message, data, status } = error;
    print(feature, { error: { name, code, message, data, status } });
  }
};
const call = (name, args = {}, options) => client.callTool({ name, arguments: args }, options);

const headers = { cookie: "a=b", ...(authorization && { authorization }) };
await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }));
print("server", [client.getServerVersion(), client.getServerCapabilities(), client.getInstructions()]);

await report("tools", async () => (await client.listTools()).tools);
await report("resources", () => client.listResources());
await report("templates", () => client.listResourceTemplates());
await report("prompts", () => client.listPrompts());

for (const kind of ["simple_text", "image_content", "audio_content", "embedded_resource"]) {
  await report(kind, () => call(`test_${kind}`));
}
await report("mixed", () => call("test_multiple_content_types"));
await report("structured", () => call("add", { a: 1, b: 2 }));
await report("not ascii", () => call("echo", { said: 'Größe 地図 \u{1f680} \u2028 \\ " \u0000' }));
await report("large", async () => {
  const { content } = await call("echo", { said: "0123456789".repeat(300_000) });
  return content[0].text.length;
});
await report("mirrored", () => call("test_custom_headers", { region: "地図", priority: 7, verbose: true, query: "q" }));
await report("failed", () => call("test_error_handling"));
await report("unknown tool", () => call("nobody"));
await report("wrong arguments", () => call("add", { a: "x" }));
for (const uri of ["test://static-text", "test://static-binary", "test://template/123/data", "test://nothing"]) {
  await report(`read ${uri}`, () => client.readResource({ uri }));
}
await report("prompt", () => client.getPrompt({ name: "test_simple_prompt" }));
const two = { arg1: "hello", arg2: "world" };
await report("prompt of arguments", () => client.getPrompt({ name: "test_prompt_with_arguments", arguments: two }));
await report("prompt with an image", () => client.getPrompt({ name: "test_prompt_with_image" }));
await report("complete", () =>
  client.complete({
    ref: { type: "ref/prompt", name: "test_prompt_with_arguments" },
    argument: { name: "arg1", value: "par" },
  }),
);
await report("complete a template", () =>
  client.complete({
    ref: { type: "ref/resource", uri: "test://template/{id}/data" },
    argument: { name: "id", value: "12" },
  }),
);
for (const kind of ["elicitation", "sampling", "list_roots", "request_state", "multiple_inputs", "multi_round"]) {
  await report(`rounds: ${kind}`, () => call(`test_input_required_result_${kind}`));
}
await report("rounds: prompt", () => client.getPrompt({ name: "test_input_required_result_prompt" }));

await report("progress", async () => {
  const seen = [];
  const result = await call("test_tool_with_progress", {}, { onprogress: (progress) => seen.push(progress) });
  return { seen, result };
});
await report("logging", async () => {
  const seen = [];
  client.setNotificationHandler("notifications/message", ({ params }) => void seen.push([params.level, params.data]));
  const _meta = { "io.modelcontextprotocol/logLevel": "info" };
  const result = await client.callTool({ name: "test_tool_with_logging", arguments: {}, _meta });
  return { seen, result };
});
await report("cancellation", async () => {
  const cancelled = async () => JSON.parse((await call("seen")).content[0].text).cancelled;
  const before = await cancelled();
  const leaving = new AbortController();
  const error = await call("wait", {}, { signal: leaving.signal, onprogress: () => leaving.abort("enough") }).catch(
    ({ name, code }) => ({ name, code }),
  );
  while ((await cancelled()) === before);
  return { error, more: (await cancelled()) - before };
});
await report("listening", async () => {
  const seen = [];
  let done;
  const all = new Promise((resolve) => {
    done = resolve;
  });
  for (const what of ["tools/list_changed", "prompts/list_changed", "resources/list_changed", "resources/updated"]) {
    client.setNotificationHandler(`notifications/${what}`, ({ params }) => {
      seen.push([what, params?.uri]);
      if (seen.length === 4) done();
    });
  }
  const subscription = await client.listen({
    toolsListChanged: true,
    promptsListChanged: true,
    resourcesListChanged: true,
    resourceSubscriptions: ["test://watched-resource"],
  });
  await call("test_trigger_tool_change");
  await call("test_trigger_prompt_change");
  await call("touch", { uri: "test://watched-resource" });
  await all;
  await subscription.close();
  return { honored: subscription.honoredFilter, seen, closed: await subscription.closed };
});
await client.close();
