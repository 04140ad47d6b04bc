/** Files that are written as a whole, and what an interrupted write leaves behind. */

import assert from "node:assert/strict";
import { mkdtemp, readdir, readFile, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileTarget, writeWhole } from "../../src/cli/write-atomically.ts";

async function* text(): AsyncIterable<Uint8Array> {
  yield Buffer.from("whole");
}

test("a write removes what killed writes of the same file left behind, and nothing else", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "gateway-whole-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const anHourAgo = Date.now() / 1_000 - 3_600;
  const abandoned = ".state.snapshot.0123456789ab.part";
  const kept = [
    ".other.snapshot.0123456789ab.part",
    ".state.snapshot.mine.part",
    ".state.snapshot.0123456789ab.part.txt",
    "state.snapshot.0123456789ab.part",
  ];
  for (const name of [abandoned, ...kept]) {
    await writeFile(join(folder, name), "half");
    await utimes(join(folder, name), anHourAgo, anHourAgo);
  }
  const running = ".state.snapshot.ba9876543210.part";
  await writeFile(join(folder, running), "half");

  await writeWhole(await fileTarget(join(folder, "state.snapshot")), text());
  assert.deepEqual((await readdir(folder)).sort(), [...kept, running, "state.snapshot"].sort());
  assert.equal(await readFile(join(folder, "state.snapshot"), "utf8"), "whole");
});
