/**
 * An MCP server made with the official SDK, with the tools, resources and prompts that the official conformance suite
 * and the client beside it call. `node mcp-server.mjs PEER [PORT]`, where PEER is a file of the installed packages;
 * prints its address on one line.
 */
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { setTimeout as after } from "node:timers/promises";

const [, , peer, port = "0"] = process.argv;
const load = createRequire(peer);
const {
  acceptedContent,
  completable,
  createMcpHandler,
  createRequestStateCodec,
  fromJsonSchema,
  inputRequired,
  McpServer,
  ResourceTemplate,
} = load("@modelcontextprotocol/server");
const { toNodeHandler } = load("@modelcontextprotocol/node");
const { z } = load("zod");

const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==";
const WAV = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA=";
const states = createRequestStateCodec({ key: "a key of at least thirty-two bytes, for tests" });
const text = (content) => ({ content: [{ type: "text", text: content }] });
const none = z.object({});
const seen = { cancelled: 0, listening: 0 };

const form = (message, name, type = "string") => ({
  message,
  requestedSchema: { type: "object", properties: { [name]: { type } }, required: [name] },
});
const elicit = (message, name, type) => inputRequired.elicit(form(message, name, type));
const sample = (question, maxTokens = 100) =>
  inputRequired.createMessage({
    messages: [{ role: "user", content: { type: "text", text: question } }],
    maxTokens,
  });
const NAME = elicit("What is your name?", "name");

function tools(server) {
  const tool = (name, run, facts = {}) =>
    server.registerTool(name, { description: `The tool ${name}`, inputSchema: none, ...facts }, run);
  tool("test_simple_text", () => text("This is a simple text response for testing."));
  tool("test_image_content", () => ({ content: [{ type: "image", data: PNG, mimeType: "image/png" }] }));
  tool("test_audio_content", () => ({ content: [{ type: "audio", data: WAV, mimeType: "audio/wav" }] }));
  tool("test_embedded_resource", () => ({
    content: [
      {
        type: "resource",
        resource: {
          uri: "test://embedded-resource",
          mimeType: "text/plain",
          text: "This is an embedded resource content.",
        },
      },
    ],
  }));
  tool("test_multiple_content_types", () => ({
    content: [
      { type: "text", text: "Multiple content types test:" },
      { type: "image", data: PNG, mimeType: "image/png" },
      {
        type: "resource",
        resource: {
          uri: "test://mixed-content-resource",
          mimeType: "application/json",
          text: '{"test":"data","value":123}',
        },
      },
    ],
  }));
  tool("test_error_handling", () => {
    throw new Error("This tool intentionally returns an error for testing");
  });
  tool("test_tool_with_logging", async (_, { mcpReq }) => {
    for (const line of ["Tool execution started", "Tool processing data", "Tool execution completed"]) {
      await mcpReq.log("info", line);
      await after(50);
    }
    return text("logged");
  });
  tool("test_logging_tool", async (_, { mcpReq }) => {
    await mcpReq.log("info", "one line");
    return text("logged");
  });
  tool("test_tool_with_progress", async (_, { mcpReq }) => {
    const { progressToken } = mcpReq._meta ?? {};
    for (const progress of [0, 50, 100]) {
      if (progressToken !== undefined) {
        const params = { progressToken, progress, total: 100, message: `at ${progress}` };
        await mcpReq.notify({ method: "notifications/progress", params });
      }
      await after(50);
    }
    return text("progressed");
  });
  tool("test_trigger_tool_change", () => {
    handler.notify.toolsChanged();
    return text("changed");
  });
  tool("test_trigger_prompt_change", () => {
    handler.notify.promptsChanged();
    return text("changed");
  });
  tool(
    "touch",
    ({ uri }) => {
      handler.notify.resourceUpdated(uri);
      handler.notify.resourcesChanged();
      return text("touched");
    },
    { inputSchema: z.object({ uri: z.string() }) },
  );
  tool("add", ({ a, b }) => ({ ...text(String(a + b)), structuredContent: { sum: a + b } }), {
    inputSchema: z.object({ a: z.number(), b: z.number() }),
    outputSchema: z.object({ sum: z.number() }),
  });
  tool("echo", ({ said }) => text(said), { inputSchema: z.object({ said: z.string() }) });
  tool(
    "relay",
    async ({ pieces }, { mcpReq }) => {
      for (const piece of pieces) {
        await mcpReq.log("info", piece);
        await after(20);
      }
      return text("relayed");
    },
    { inputSchema: z.object({ pieces: z.array(z.string()) }) },
  );
  tool("wait", async (_, { mcpReq }) => {
    await mcpReq.notify({
      method: "notifications/progress",
      params: { progressToken: mcpReq._meta?.progressToken, progress: 1 },
    });
    try {
      await after(120_000, undefined, { signal: mcpReq.signal });
    } catch {
      seen.cancelled++;
    }
    return text("waited");
  });
  tool("seen", () => text(JSON.stringify(seen)));
  tool("test_custom_headers", (args) => text(JSON.stringify(args)), {
    inputSchema: fromJsonSchema({
      type: "object",
      properties: {
        region: { type: "string", "x-mcp-header": "Region" },
        priority: { type: "integer", "x-mcp-header": "Priority" },
        verbose: { type: "boolean", "x-mcp-header": "Verbose" },
        query: { type: "string" },
      },
    }),
  });
}

function roundTrips(server) {
  const tool = (name, run) => server.registerTool(name, { description: `The tool ${name}`, inputSchema: none }, run);
  const answered = ({ mcpReq }, key) => acceptedContent(mcpReq.inputResponses, key);
  tool("test_input_required_result_elicitation", (_, context) => {
    const { name } = answered(context, "user_name") ?? {};
    return typeof name === "string" ? text(`Hello, ${name}!`) : inputRequired({ inputRequests: { user_name: NAME } });
  });
  tool("test_input_required_result_sampling", (_, { mcpReq }) => {
    const input = mcpReq.inputResponses?.capital_question;
    if (input === undefined) {
      return inputRequired({ inputRequests: { capital_question: sample("What is the capital of France?") } });
    }
    return text(input.content?.text ?? "none");
  });
  tool("test_input_required_result_list_roots", (_, { mcpReq }) => {
    const input = mcpReq.inputResponses?.client_roots;
    if (input === undefined) return inputRequired({ inputRequests: { client_roots: inputRequired.listRoots() } });
    return text(JSON.stringify(input.roots));
  });
  tool("test_input_required_result_request_state", async (_, context) => {
    const { mcpReq } = context;
    if (answered(context, "confirm") !== undefined && mcpReq.requestState()?.step === 1) return text("state-ok");
    const requestState = await states.mint({ step: 1 });
    return inputRequired({ inputRequests: { confirm: elicit("Please confirm", "ok", "boolean") }, requestState });
  });
  tool("test_input_required_result_tampered_state", async (_, context) => {
    if (context.mcpReq.requestState()?.step === 1) return text("state-ok");
    const requestState = await states.mint({ step: 1 });
    return inputRequired({ inputRequests: { confirm: elicit("Please confirm", "ok", "boolean") }, requestState });
  });
  tool("test_input_required_result_multiple_inputs", async (_, { mcpReq }) => {
    const { user_name, greeting, client_roots } = mcpReq.inputResponses ?? {};
    if (user_name && greeting && client_roots) return text("all three");
    const inputRequests = {
      user_name: NAME,
      greeting: sample("Generate a greeting", 50),
      client_roots: inputRequired.listRoots(),
    };
    return inputRequired({ inputRequests, requestState: await states.mint({ step: 1 }) });
  });
  tool("test_input_required_result_multi_round", async (_, context) => {
    const state = context.mcpReq.requestState();
    if (state?.step === 2 && answered(context, "step2") !== undefined) {
      return text(`${state.name} likes ${answered(context, "step2").color}`);
    }
    const { name } = answered(context, "step1") ?? {};
    if (state?.step === 1 && name !== undefined) {
      const step2 = elicit("Step 2: What is your favorite color?", "color");
      return inputRequired({ inputRequests: { step2 }, requestState: await states.mint({ step: 2, name }) });
    }
    const step1 = elicit("Step 1: What is your name?", "name");
    return inputRequired({ inputRequests: { step1 }, requestState: await states.mint({ step: 1 }) });
  });
  tool("test_input_required_result_capabilities", (_, { mcpReq }) => {
    const can = mcpReq.envelope?.["io.modelcontextprotocol/clientCapabilities"] ?? {};
    if (mcpReq.inputResponses !== undefined) return text("done");
    return inputRequired({
      inputRequests: {
        ...(can.elicitation && { user_name: NAME }),
        ...(can.sampling && { question: sample("What is the capital of France?") }),
      },
    });
  });
  // The SDK itself answers -32021 to a client that has not declared the capability.
  tool("test_missing_capability", () => inputRequired({ inputRequests: { question: sample("What?") } }));
  tool("test_streaming_elicitation", async (_, { mcpReq }) => {
    await mcpReq.notify({ method: "notifications/progress", params: { progressToken: 1, progress: 1 } });
    return inputRequired({ inputRequests: { user_name: NAME } });
  });
}

function resources(server) {
  const facts = (mimeType) => ({ description: "A resource", mimeType });
  server.registerResource("text", "test://static-text", facts("text/plain"), ({ href: uri }) => ({
    contents: [{ uri, mimeType: "text/plain", text: "This is the content of the static text resource." }],
  }));
  server.registerResource("binary", "test://static-binary", facts("image/png"), ({ href: uri }) => ({
    contents: [{ uri, mimeType: "image/png", blob: PNG }],
  }));
  server.registerResource("watched", "test://watched-resource", facts("text/plain"), ({ href: uri }) => ({
    contents: [{ uri, mimeType: "text/plain", text: "watched" }],
  }));
  const template = new ResourceTemplate("test://template/{id}/data", {
    list: undefined,
    complete: { id: (begun) => ["123", "124", "200"].filter((id) => id.startsWith(begun)) },
  });
  server.registerResource("template", template, facts("application/json"), ({ href: uri }, { id }) => {
    const json = JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` });
    return { contents: [{ uri, mimeType: "application/json", text: json }] };
  });
}

function prompts(server) {
  const user = (content) => ({ role: "user", content });
  const asText = (content) => user({ type: "text", text: content });
  server.registerPrompt("test_simple_prompt", { description: "Simple" }, () => ({
    messages: [asText("This is a simple prompt for testing.")],
  }));
  const arg1 = completable(z.string(), (begun) => ["paris", "park", "party"].filter((one) => one.startsWith(begun)));
  const argsSchema = z.object({ arg1, arg2: z.string() });
  server.registerPrompt("test_prompt_with_arguments", { description: "With arguments", argsSchema }, (args) => ({
    messages: [asText(`Prompt with arguments: arg1='${args.arg1}', arg2='${args.arg2}'`)],
  }));
  const embedded = { description: "Embedded", argsSchema: z.object({ resourceUri: z.string() }) };
  server.registerPrompt("test_prompt_with_embedded_resource", embedded, ({ resourceUri: uri }) => ({
    messages: [
      user({
        type: "resource",
        resource: { uri, mimeType: "text/plain", text: "Embedded resource content for testing." },
      }),
      asText("Please process the embedded resource above."),
    ],
  }));
  server.registerPrompt("test_prompt_with_image", { description: "Image" }, () => ({
    messages: [user({ type: "image", data: PNG, mimeType: "image/png" }), asText("Please analyze the image above.")],
  }));
  server.registerPrompt("test_input_required_result_prompt", { description: "Asks" }, (context) => {
    const input = acceptedContent(context.mcpReq.inputResponses, "user_context");
    if (input !== undefined) return { messages: [asText(`In ${input.context}`)] };
    const user_context = elicit("What context should the prompt use?", "context");
    return inputRequired({ inputRequests: { user_context } });
  });
}

function made() {
  const listChanged = true;
  const server = new McpServer(
    { name: "fixture", version: "1.0.0" },
    {
      capabilities: {
        tools: { listChanged },
        prompts: { listChanged },
        resources: { listChanged, subscribe: true },
        logging: {},
        completions: {},
      },
      instructions: "Call anything.",
      requestState: { verify: states.verify },
      cacheHints: { "tools/list": { ttlMs: 60_000, cacheScope: "public" } },
    },
  );
  for (const add of [tools, roundTrips, resources, prompts]) add(server);
  return server;
}

const handler = createMcpHandler(made, { legacy: "reject", responseMode: "auto" });
const node = toNodeHandler(handler);
const LOCAL = /^(?:localhost|127\.0\.0\.1|\[::1\])(?::\d+)?$/;
const isForeign = ({ host = "", origin }) =>
  !LOCAL.test(host) || (origin !== undefined && !LOCAL.test(origin.replace(/^https?:\/\//, "")));

const server = createServer((request, answer) => {
  // Refusing pages of other origins is the responsibility of the SDK's user.
  if (isForeign(request.headers)) return answer.writeHead(403).end();
  return node(request, answer);
});
server.listen(Number(port), "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}/mcp`));
