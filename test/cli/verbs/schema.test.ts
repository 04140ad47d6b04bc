/** `gateway schema` prints the schemas for editors, and lists them. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { execute } from "../../../src/cli/main.ts";
import { bufferIo } from "../buffer-io.ts";

async function printed(...args: readonly string[]) {
  const io = bufferIo();
  const status = await execute(args, io);
  return { status, out: io.out(), err: io.err() };
}

for (const [document, file] of [
  ["node", "node-file"],
  ["deployment", "deployment"],
] as const) {
  test(`the schema of the ${document} document equals the one in the reference`, async () => {
    const { status, out } = await printed("schema", document);
    assert.equal(status, 0);
    assert.equal(
      out,
      readFileSync(new URL(`../../../docs/reference/schemas/${file}.schema.json`, import.meta.url), "utf8"),
    );
    const { $id, title, description } = JSON.parse(out) as Readonly<Record<string, string>>;
    assert.match($id ?? "", /^urn:gateway:/);
    assert.ok(title !== undefined && description !== undefined);
  });
}

test("-config-schema prints the schema of the deployment document", async () => {
  assert.equal((await printed("-config-schema")).out, (await printed("schema", "deployment")).out);
});

test("another word is refused with the valid names", async () => {
  const { status, err } = await printed("schema", "deploymnet");
  assert.equal(status, 2);
  assert.match(err, /no schema 'deploymnet', only node and deployment \(did you mean 'deployment'\?\)/);
});
