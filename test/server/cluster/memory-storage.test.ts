/** A single node without storage: a cluster like any other while its process lives. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { bigCommand, hasKey, openFor, options, optionsAlone, writeKey } from "./support/cluster-bench.ts";
import { failure, until } from "./support/outcome.ts";

const inMemory = { ...optionsAlone(""), dataDir: undefined };

test("writes are answered and can be read; a later process has none of them", async (t) => {
  const node = await openFor(t, inMemory);
  await Promise.all(Array.from({ length: 200 }, (_, at) => writeKey(node, `key${at}`)));
  assert.ok(hasKey(node, "key199"));
  assert.equal(node.status().role, "leader");
  await node.readBarrier({ timeoutMs: 5_000 });
  await node.close();
  const next = await openFor(t, inMemory);
  assert.equal(hasKey(next, "key199"), false);
});

test("saving a snapshot and restoring one are refused", async (t) => {
  const node = await openFor(t, inMemory);
  await assert.rejects(node.saveSnapshot({ stale: false, signal: new AbortController().signal }), failure("refused"));
  async function* archive() {
    yield new Uint8Array(1);
  }
  await assert.rejects(node.restore(archive(), options()), failure("refused"));
});

test("the log is bounded: applied entries are dropped", async (t) => {
  const node = await openFor(t, inMemory);
  for (let wave = 0; wave < 5; wave += 1) {
    await Promise.all(Array.from({ length: 40 }, () => node.write(bigCommand(500_000), options())));
  }
  await until("a short log", () => node.status().snapshotIndex > 1 && node.status().logBytes < 64 << 20);
});
