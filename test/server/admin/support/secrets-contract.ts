/** Contract of the port `Secrets`, run over the in-memory and the real implementation. */

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import type { Secrets } from "../../../../src/server/admin/index.ts";

const write = { by: { iss: "local", sub: "unix:7" }, timeoutMs: 5_000 };

export function secretsContract(name: string, open: () => Promise<Secrets>): void {
  test(`${name}: a value is counted as a version, listed by name and never shown`, async () => {
    const secrets = await open();
    await secrets.put("b", "canary-one", write);
    await secrets.put("a", "canary-two", write);
    const { version } = await secrets.put("a", "canary-three", write);
    assert.equal(version, 2);
    assert.deepEqual(
      secrets.list().map((it) => [it.name, it.version]),
      [
        ["a", 2],
        ["b", 1],
      ],
    );
    assert.ok(!JSON.stringify(secrets.list()).includes("canary"));
  });

  test(`${name}: a deleted secret is gone, and deleting an unknown one returns false`, async () => {
    const secrets = await open();
    await secrets.put("a", "v", write);
    assert.equal(await secrets.delete("a", write), true);
    assert.equal(await secrets.delete("a", write), false);
    assert.deepEqual(secrets.list(), []);
  });

  test(`${name}: a rewrapped secret is wrapped by the key that the list names`, async () => {
    const secrets = await open();
    await secrets.put("a", "v", write);
    const { kek } = await secrets.rewrap(write);
    assert.deepEqual(
      secrets.list().map((it) => it.kek),
      [kek],
    );
  });

  test(`${name}: equal requests have equal digests, which are not plain hashes`, async () => {
    const secrets = await open();
    const digest = secrets.requestDigest(Buffer.from("request"));
    assert.equal(secrets.requestDigest(Buffer.from("request")), digest);
    assert.notEqual(secrets.requestDigest(Buffer.from("another")), digest);
    assert.notEqual(digest, createHash("sha256").update("request").digest("hex"));
  });
}
