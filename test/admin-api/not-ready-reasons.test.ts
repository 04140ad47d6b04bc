import assert from "node:assert/strict";
import test from "node:test";
import { lacksDocument, notReadyReasons } from "../../src/admin-api/index.ts";

type Reported = Parameters<typeof notReadyReasons>[0];

const running: Reported["configuration"] = { state: "running", message: null };
const refused: Reported["configuration"] = { state: "refused", message: "line 3: unknown key" };
const model = (state: "ready" | "fetching" | "failed") =>
  [{ name: "org/model", state, bytes: 0, total_bytes: null, message: null }] satisfies Reported["models"];

const CASES: readonly [Reported, readonly string[], boolean][] = [
  [{ reasons: ["starting"], configuration: running }, ["it is starting"], false],
  [{ reasons: ["starting", "cluster"], configuration: running }, ["its cluster has no leader yet"], false],
  [{ reasons: ["starting", "configuration"], configuration: running }, ["no deployment document is in force"], true],
  [
    { reasons: ["configuration", "workers"], configuration: running, models: model("ready") },
    ["no deployment document is in force", "no worker process serves yet"],
    true,
  ],
  [{ reasons: ["configuration"], configuration: refused }, ["its deployment document was refused"], false],
  [
    { reasons: ["configuration"], configuration: running, models: model("fetching") },
    ["the models that its deployment document needs are not ready"],
    false,
  ],
  [{ reasons: ["certificate pending"], configuration: running }, ["it has no certificate for its listener yet"], false],
  // Sentences, and codes of a newer node.
  [
    { reasons: ["this node was removed", "toString"], configuration: running },
    ["this node was removed", "toString"],
    false,
  ],
  [{ reasons: [], configuration: running }, [], false],
];

test("reasons are phrases, and only a node that waits for its first document is said to lack one", () => {
  for (const [status, texts, lacks] of CASES) {
    assert.deepEqual(notReadyReasons(status), texts, JSON.stringify(status));
    assert.equal(lacksDocument(status), lacks, JSON.stringify(status));
  }
});
