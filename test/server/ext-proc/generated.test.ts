// tier: all
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { test } from "node:test";

const root = resolve(import.meta.dirname, "../../..");

async function filesIn(folder: string): Promise<ReadonlyMap<string, string>> {
  const names = (await readdir(folder, { recursive: true })).filter((name) => name.endsWith(".ts")).sort();
  return new Map(
    await Promise.all(names.map(async (name) => [name, await readFile(join(folder, name), "utf8")] as const)),
  );
}

test("the generated types are those of proto/; `npm run generate:proto` makes them anew", async (t) => {
  const fresh = await mkdtemp(join(tmpdir(), "gateway-proto-"));
  t.after(() => rm(fresh, { recursive: true, force: true }));
  execFileSync(process.execPath, [join(root, "bin/generate-proto.mjs"), fresh]);
  assert.deepEqual(await filesIn(join(root, "src/server/ext-proc/generated")), await filesIn(fresh));
});
