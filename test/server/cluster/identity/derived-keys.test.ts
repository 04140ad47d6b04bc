import assert from "node:assert/strict";
import { createHash, createPublicKey, hkdfSync, scryptSync } from "node:crypto";
import { test } from "node:test";
import { deriveKeys } from "../../../../src/server/cluster/identity/index.ts";
import { keysOf, OTHER_SECRET, SECRET } from "./made.ts";

test("keys are derived from the secret by scrypt and then HKDF, label by label", async () => {
  const keys = await keysOf(SECRET);
  const root = scryptSync(SECRET, "gateway/cluster/v1", 32, { N: 32_768, r: 8, p: 1, maxmem: 2 ** 26 });
  const expand = (label: string, length: number) => Buffer.from(hkdfSync("sha256", root, "", label, length));
  assert.equal(keys.clusterId, expand("cluster-id/v1", 8).toString("hex"));
  assert.deepEqual(keys.kek, expand("kek/v1", 32));
  const seed = keys.caKey.export({ format: "der", type: "pkcs8" }).subarray(-32);
  assert.deepEqual(seed, expand("ca-ed25519/v1", 32));
  const kekName = createHash("sha256").update(expand("kek-id/v1", 32)).digest("hex");
  assert.equal(keys.kekId, `s:${kekName.slice(0, 8)}`);
});

test("the derivation never changes, since running clusters depend on it", async () => {
  const { clusterId, kekId } = await deriveKeys("0123456789abcdef-0123456789abcdef");
  assert.deepEqual({ clusterId, kekId }, { clusterId: "aaa0d1e1fb995b57", kekId: "s:aa716ef0" });
});

test("another secret gives entirely different keys", async () => {
  const [one, other] = await Promise.all([keysOf(SECRET), keysOf(OTHER_SECRET)]);
  const parts = ({ clusterId, kek, kekId, caKey }: typeof one) => [
    clusterId,
    kekId,
    Buffer.from(kek).toString("hex"),
    createPublicKey(caKey).export({ format: "pem", type: "spki" }).toString(),
  ];
  const all = [...parts(one), ...parts(other)];
  assert.equal(new Set(all).size, all.length);
});

test("a secret of fewer than 16 characters is refused without being quoted", async () => {
  await assert.rejects(deriveKeys("short-secret-15"), (error: Error) => {
    assert.ok(error instanceof RangeError);
    assert.ok(!error.message.includes("short"));
    return true;
  });
});
