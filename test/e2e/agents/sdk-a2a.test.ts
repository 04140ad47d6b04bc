/**
 * The official A2A SDK, unmodified, on both sides of a governed gateway: the client gets the same answers as directly,
 * method by method. Source: A2A 1.0; a2a reference, 11.
 */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { peer } from "../../peers/index.ts";
import { startFronting } from "./support/fronting.ts";
import { startProgram, tellAll } from "./support/programs.ts";

const sdk = await peer("a2a-sdk");
const skip = sdk.missing;

test("every method of the SDK's client gets the same answer through the gateway as from the agent", {
  skip,
}, async () => {
  const file = { after };
  const url = await startProgram(file, "a2a-agent.mjs", sdk.path);
  const { gateway, authorization } = await startFronting(file, {
    a2a: [{ name: "fixture", url, api_key: "the-agents-own-key", cost_per_call: 1 }],
  });
  const direct = await tellAll("a2a-client.mjs", sdk.path, url);
  const through = await tellAll("a2a-client.mjs", sdk.path, `${gateway.url}/a2a/fixture`, authorization);
  assert.deepEqual([...through], [...direct]);
  // Equal failures on both sides would pass the comparison too.
  const errors = [...through].map(([name, seen]) => [name, Object(seen)["error"]?.name]).filter(([, error]) => error);
  assert.deepEqual(errors, [
    ["unknown task", "TaskNotFoundError"],
    ["cancel what has ended", "TaskNotCancelableError"],
    ["subscribe to what has ended", "UnsupportedOperationError"],
  ]);
  assert.ok(Object(through.get("stream")).length >= 6);
  assert.equal(Object(through.get("list"))["tasks"].length, 1);
});
