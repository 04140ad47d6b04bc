/**
 * The official MCP SDK, unmodified, on both sides of a governed gateway: the client gets the same answers as directly,
 * feature by feature. Source: MCP 2026-07-28; mcp reference, 13.
 */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { peer } from "../../peers/index.ts";
import { startFronting } from "./support/fronting.ts";
import { startProgram, tellAll } from "./support/programs.ts";

const sdk = await peer("mcp-sdk");
const skip = sdk.missing;

test("every feature of the SDK's client gets the same answer through the gateway as from the server", {
  skip,
}, async () => {
  const file = { after };
  const url = await startProgram(file, "mcp-server.mjs", sdk.path);
  const { gateway, authorization } = await startFronting(file, {
    mcp: [{ name: "fixture", url, api_key: "the-servers-own-key", cost_per_call: 1 }],
  });
  const direct = await tellAll("mcp-client.mjs", sdk.path, url);
  const through = await tellAll("mcp-client.mjs", sdk.path, `${gateway.url}/mcp/fixture`, authorization);
  assert.deepEqual([...through], [...direct]);
  // Equal failures on both sides would pass the comparison too.
  const failed = [...through].filter(([, seen]) => Object(seen)["error"]?.code !== undefined).map(([name]) => name);
  assert.deepEqual(failed, ["unknown tool", "read test://nothing", "cancellation"]);
  assert.equal(Object(through.get("cancellation"))["more"], 1);
  assert.equal(Object(through.get("progress"))["seen"].length, 3);
  assert.equal(Object(through.get("logging"))["seen"].length, 3);
  assert.equal(Object(through.get("listening"))["seen"].length, 4);
  assert.equal(through.get("large"), 3_000_000);
});
