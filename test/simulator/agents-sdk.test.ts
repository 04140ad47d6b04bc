// tier: all
/** The official SDKs of both agent protocols, unmodified, as clients of the simulated server and agent. */

import assert from "node:assert/strict";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { outputOf } from "../e2e/agents/support/programs.ts";
import { peer } from "../peers/index.ts";
import { simulator } from "./clients.ts";

const FOLDER = join(dirname(fileURLToPath(import.meta.url)), "programs");

/** The client's results, by feature. */
async function seenBy(program: string, peerPath: string, url: string): Promise<Readonly<Record<string, unknown>>> {
  const out = await outputOf(process.execPath, [join(FOLDER, program), peerPath, url]);
  // The SDK prints lines of its own too.
  const lines = out.split("\n").filter((line) => line.startsWith("["));
  return Object.fromEntries(lines.map((line) => JSON.parse(line) as [string, unknown]));
}

const mcpSdk = await peer("mcp-sdk");
test("the MCP SDK works with the simulated server", { skip: mcpSdk.missing }, async (t) => {
  const { url } = await simulator(t);
  const { tools, ...seen } = await seenBy("mcp-client.mjs", mcpSdk.path, `${url}/mcp`);
  assert.ok((tools as readonly string[]).includes("delete_file"));
  assert.deepEqual(seen, {
    server: "simulated-server",
    resources: ["sim://notes/today", "sim://logo"],
    templates: 1,
    prompts: ["review", "greet"],
    search: 4,
    weather: { city: "Köln", sky: "fair", degrees: 21 },
    delete_file: '"/etc/passwd" was deleted, or would have been.',
    picture: "image/png",
    read: "image/png",
    prompt: "Hello!",
    book_table: 'A table for 4 at "Chez Nous" was booked.',
    summarize: "summed up: Sum up: long",
    report: ["part 1 of 3", "part 2 of 3", "part 3 of 3", 'A report on "x".'],
    listening: "sim://notes/today",
    "unknown tool": {
      error: { name: "ProtocolError", code: -32_602, message: 'Invalid params: there is no tool "nobody"' },
    },
  });
});

const a2aSdk = await peer("a2a-sdk");
test("the A2A SDK works with the simulated agent", { skip: a2aSdk.missing }, async (t) => {
  const { url } = await simulator(t);
  const { tampered, "unknown task": unknown, ...seen } = await seenBy("a2a-client.mjs", a2aSdk.path, `${url}/a2a`);
  assert.deepEqual(seen, {
    card: "Simulated agent",
    message: 'You said: "Hello!"',
    report: ["TASK_STATE_COMPLETED", 2],
    stream: ["task", "statusUpdate", "artifactUpdate", "artifactUpdate", "statusUpdate"],
    book: ["TASK_STATE_INPUT_REQUIRED", "TASK_STATE_COMPLETED"],
    cancel: "TASK_STATE_CANCELED",
    signed: "genuine",
  });
  assert.match(JSON.stringify(unknown), /TaskNotFoundError/);
  assert.match(JSON.stringify(tampered), /"error"/);
});
