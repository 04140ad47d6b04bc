/** `gateway check` asks each fronted server for its version, and each agent for its card. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { writeFiles } from "../../e2e/support/config.ts";
import { runProgram } from "../../e2e/support/gateway.ts";
import { type Recorded, scriptedUpstream } from "../../e2e/support/upstream.ts";
import { within } from "../../e2e/support/wait.ts";

const owner = { after };
const CARD = {
  name: "Helper",
  description: "Helps",
  version: "1.0.0",
  supportedInterfaces: [{ url: "http://inner/rpc", protocolBinding: "JSONRPC", protocolVersion: "1.0" }],
  capabilities: { streaming: true },
  defaultInputModes: ["text/plain"],
  defaultOutputModes: ["text/plain"],
  skills: [{ id: "ask", name: "Ask", description: "Ask", tags: ["a"] }],
};
const discovered = (versions: readonly string[]) => ({
  jsonrpc: "2.0",
  id: "check",
  result: { resultType: "complete", supportedVersions: versions, capabilities: {} },
});

const ANSWERS: Readonly<Record<string, readonly [status: number, body: unknown]>> = {
  "/good": [200, discovered(["2026-07-28"])],
  "/future": [200, discovered(["2027-01-01"])],
  "/old": [400, { jsonrpc: "2.0", id: null, error: { code: -32000, message: "Bad Request: Server not initialized" } }],
  "/closed": [401, {}],
  "/card": [200, CARD],
  "/old-card": [200, { name: "a", url: "http://inner/", protocolVersion: "0.3.0" }],
};
const upstream = await scriptedUpstream(owner, (socket, { target }: Recorded) => {
  const [status, body] = ANSWERS[target] ?? [404, {}];
  const text = JSON.stringify(body);
  socket.end(
    `HTTP/1.1 ${status} Whatever\r\ncontent-type: application/json\r\ncontent-length: ${text.length}\r\nconnection: close\r\n\r\n${text}`,
  );
});

test("each server and agent is called with its credential, and its problem is reported", async () => {
  const { url } = upstream;
  const files = await writeFiles(owner, {
    providers: [],
    mcp: [
      { name: "good", url: `${url}/good`, api_key: "the-servers-own-key" },
      { name: "future", url: `${url}/future` },
      { name: "old", url: `${url}/old` },
      { name: "closed", url: `${url}/closed`, api_key: "a-key-of-yesterday" },
      { name: "gone", url: "http://127.0.0.1:9/rpc" },
    ],
    a2a: [
      { name: "helper", url: `${url}/rpc`, card_url: `${url}/card` },
      { name: "veteran", url: `${url}/rpc`, card_url: `${url}/old-card` },
    ],
  });
  const program = runProgram(owner, { args: ["check", "-config", files.nodePath], env: {} });
  const { status } = await within("the end of the check", program.ended, 60_000);
  const out = program.stdout();
  assert.equal(status, 1, out);
  assert.match(out, /: 0 providers, 5 MCP servers, 2 agents$/m);
  assert.match(out, /^ok {4}MCP server good: .*\/good supports MCP 2026-07-28, answered in \d+ ms$/m);
  assert.match(out, /^fail {2}MCP server future: .* supports MCP 2027-01-01 but not 2026-07-28: upgrade the server$/m);
  assert.match(
    out,
    /^fail {2}MCP server old: .* answered 400 and does not support MCP 2026-07-28: its answer to `server\/discover` has no `supportedVersions`$/m,
  );
  assert.match(out, /^fail {2}MCP server closed: .* answered 401: the server refuses the credential$/m);
  assert.match(out, /^fail {2}MCP server gone: .*nothing listens there$/m);
  assert.match(out, /^ok {4}agent helper: its agent card offers A2A 1\.0 over JSON-RPC$/m);
  assert.match(
    out,
    /^fail {2}agent veteran: its agent card cannot be used: it is of A2A 0\.3, and the gateway speaks 1\.0$/m,
  );
  const asked = upstream.requests.find(({ target }) => target === "/good");
  assert.ok(asked?.headers.some(([name, value]) => name === "authorization" && value === "Bearer the-servers-own-key"));
  assert.ok(!out.includes("the-servers-own-key") && !out.includes("a-key-of-yesterday"));
});
