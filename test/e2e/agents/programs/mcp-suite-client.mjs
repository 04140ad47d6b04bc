/**
 * A client for the client scenarios of the MCP conformance suite: `node mcp-suite-client.mjs PEER GATEWAY URL`, of
 * which the suite adds the last. It lists and calls everything the server has. GATEWAY is the launcher of a gateway to
 * put in front of the server, or `direct` for none.
 */
import { spawn } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

const [, , peer, launcher, server] = process.argv;
const { Client, StreamableHTTPClientTransport } = createRequire(peer)("@modelcontextprotocol/client");

async function fronted(url) {
  const folder = await mkdtemp(join(tmpdir(), "gateway-suite-"));
  const node = {
    listen: "127.0.0.1:0",
    metrics_listen: "127.0.0.1:0",
    deployment: "deployment.yaml",
    cluster: { node_id: "n1", data_dir: "data", secret: "a-secret-that-is-long-enough-for-tests", bootstrap: true },
  };
  const deployment = {
    providers: [{ name: "p", dialect: "compat", base_url: "http://127.0.0.1:9" }],
    mcp: [{ name: "fixture", url }],
  };
  await writeFile(join(folder, "node.yaml"), JSON.stringify(node));
  await writeFile(join(folder, "deployment.yaml"), JSON.stringify(deployment));
  const child = spawn(process.execPath, [launcher, "-config", join(folder, "node.yaml")], {
    stdio: ["ignore", "ignore", "pipe"],
  });
  const close = async () => {
    child.kill("SIGKILL");
    await rm(folder, { recursive: true, force: true });
  };
  for await (const line of createInterface({ input: child.stderr })) {
    const { message, listen } = JSON.parse(line);
    if (message === "ready") return { url: `http://${listen}/mcp/fixture`, close };
  }
  throw new Error("the gateway did not start");
}

/** Returns a value of the schema's type. */
function exampleOf(schema = {}) {
  if (schema.type === "object") {
    return Object.fromEntries(Object.entries(schema.properties ?? {}).map(([name, one]) => [name, exampleOf(one)]));
  }
  if (schema.type === "integer" || schema.type === "number") return 7;
  return schema.type === "boolean" ? true : "größer";
}

async function callEverything(client) {
  const { tools } = await client.listTools();
  for (const { name, inputSchema } of tools) {
    // A tool with a `schema` argument gets its own schema.
    const args = inputSchema.properties?.schema ? { schema: tools[0].inputSchema } : exampleOf(inputSchema);
    await client.callTool({ name, arguments: args });
  }
  const { prompts, resources } = client.getServerCapabilities() ?? {};
  if (prompts) {
    for (const { name } of (await client.listPrompts()).prompts) await client.getPrompt({ name });
  }
  if (resources) {
    for (const { uri } of (await client.listResources()).resources) await client.readResource({ uri });
  }
}

const target = launcher === "direct" ? { url: server, close: async () => {} } : await fronted(server);
try {
  const client = new Client(
    { name: "suite-client", version: "1.0.0" },
    {
      capabilities: { elicitation: { form: {} }, sampling: {}, roots: {} },
      versionNegotiation: { mode: { pin: "2026-07-28" } },
    },
  );
  client.setRequestHandler("elicitation/create", ({ params }) => ({
    action: "accept",
    content: exampleOf(params.requestedSchema),
  }));
  client.setRequestHandler("sampling/createMessage", () => ({
    model: "m",
    role: "assistant",
    content: { type: "text", text: "sampled" },
  }));
  client.setRequestHandler("roots/list", () => ({ roots: [{ uri: "file:///work", name: "work" }] }));
  await client.connect(new StreamableHTTPClientTransport(new URL(target.url)));
  await callEverything(client);
  await client.close();
} finally {
  await target.close();
}
