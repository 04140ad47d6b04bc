/** Model files that a node lists: needed ones with their state, and unused ones. */

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { nullLog } from "../../../../src/base/index.ts";
import { type ModelNeed, openModelStore, openModelSupply } from "../../../../src/server/models/index.ts";
import { artifactRows } from "../../../../src/server/node/admin/artifacts-port.ts";

const GRAPH = Buffer.from("a graph");
const sha256 = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex");

test("a model that cannot be fetched is listed by its files with the reason, and unused content by its digest", async (t) => {
  const directory = await mkdtemp(join(tmpdir(), "admin-artifacts-"));
  t.after(() => rm(directory, { recursive: true, force: true }));
  const left = Buffer.from("left over");
  await mkdir(join(directory, "sha256"));
  await writeFile(join(directory, "sha256", sha256(left)), left);
  const store = openModelStore({ directory, userAgent: "test", now: Date.now, monotonic: () => performance.now() });
  t.after(() => store.close());
  const supply = openModelSupply({ store, log: nullLog, monotonic: () => performance.now() });
  t.after(() => supply.close());
  const { list, onChange } = artifactRows({
    configuration: { running: () => undefined, onChange: () => () => undefined },
    store,
    supply,
  });
  const unused = {
    ...{ model: null, file: `sha256/${sha256(left)}`, role: null, digest: `sha256:${sha256(left)}`, size: left.length },
    ...{ state: "unused", fetched: null, message: null, source: null, detectors: [] },
  };
  assert.deepEqual(await list(), [unused]);

  const failed = new Promise<void>((resolve) => {
    const end = onChange(() => resolve());
    t.after(end);
  });
  const url = "https://user:canary@127.0.0.1:9/model.onnx";
  const model = { name: "ner", files: [{ role: "model", url, sha256: sha256(GRAPH), size: GRAPH.length }] };
  supply.setWanted([{ model: model as ModelNeed["model"], parts: "whole" }]);
  await failed;
  const [row, ...others] = await list();
  assert.deepEqual(others, [unused]);
  const { state, message, ...facts } = row ?? assert.fail();
  assert.ok(state === "failed" || state === "fetching");
  assert.doesNotMatch(JSON.stringify(row), /canary/);
  assert.equal(typeof message, state === "failed" ? "string" : "object");
  assert.deepEqual(facts, {
    ...{ model: "ner", file: "model.onnx", role: "graph", digest: `sha256:${sha256(GRAPH)}`, size: GRAPH.length },
    ...{ fetched: 0, source: "127.0.0.1:9", detectors: [] },
  });
});
