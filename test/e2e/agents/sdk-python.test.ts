// tier: long
/**
 * The official Python SDKs, unmodified, on both sides of a governed gateway: the client gets the same answers as
 * directly, feature by feature. Sources: MCP 2026-07-28; A2A 1.0; mcp reference, 13; a2a reference, 8, 9 and 11.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { generatePrivatePem } from "../../../src/base/index.ts";
import { peer } from "../../peers/index.ts";
import { startFronting } from "./support/fronting.ts";
import { startProgram, tellAll } from "./support/programs.ts";

const sdks = await peer("python-agent-sdks");
const skip = sdks.missing;

test("every feature of the MCP client gets the same answer through the gateway as from the server", {
  skip,
}, async (t) => {
  const url = await startProgram(t, "mcp-server.py", sdks.path);
  const { gateway, authorization } = await startFronting(t, {
    mcp: [{ name: "fixture", url, api_key: "the-servers-own-key", cost_per_call: 1 }],
  });
  const direct = await tellAll("mcp-client.py", sdks.path, url);
  const through = await tellAll("mcp-client.py", sdks.path, `${gateway.url}/mcp/fixture`, authorization);
  assert.deepEqual([...through], [...direct]);
  // Equal failures on both sides would pass the comparison too.
  assert.deepEqual(failures(through), ["note://nothing", "unknown prompt"]);
  assert.deepEqual(through.get("cancellation"), [true, 1]);
  assert.equal(Object(through.get("logging")).length, 2);
  assert.equal(Object(through.get("listening"))[1].length, 4);
  assert.equal(through.get("large"), 400_000);
});

test("the A2A client finds the agent by its card alone and gets the same answers as from the agent", {
  skip,
}, async (t) => {
  const url = await startProgram(t, "a2a-agent.py", sdks.path);
  const { gateway, authorization } = await startFronting(t, {
    a2a: [{ name: "fixture", url, api_key: "the-agents-own-key", cost_per_call: 1 }],
    a2a_cards: { signing_keys: [generatePrivatePem("p-256")] },
  });
  const direct = await tellAll("a2a-client.py", sdks.path, url);
  const through = await tellAll("a2a-client.py", sdks.path, `${gateway.url}/a2a/fixture`, authorization);
  assert.deepEqual([direct.get("signed"), through.get("signed")], [false, true]);
  const others = (seen: ReadonlyMap<string, unknown>) => [...seen].filter(([feature]) => feature !== "signed");
  assert.deepEqual(others(through), others(direct));
  // Equal failures on both sides would pass the comparison too.
  assert.deepEqual(failures(through), [
    "failure",
    "rejected",
    "unknown task",
    "cancel what has ended",
    "subscribe to what has ended",
    "push",
  ]);
  assert.ok(Object(through.get("stream")).length >= 6);
});

const failures = (seen: ReadonlyMap<string, unknown>): readonly string[] =>
  [...seen].filter(([, result]) => Object(result)["error"] !== undefined).map(([feature]) => feature);
