// tier: all
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { test } from "node:test";

const root = resolve(import.meta.dirname, "../../..");

test("the generated types are those of proto/; `npm run generate:proto` writes them", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "gateway-proto-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const fresh = join(folder, "messages.ts");
  execFileSync(process.execPath, [join(root, "bin/generate-proto.mjs"), fresh]);
  const kept = join(root, "src/server/ext-proc/messages.generated.ts");
  assert.equal(await readFile(kept, "utf8"), await readFile(fresh, "utf8"));
});
