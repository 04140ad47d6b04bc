import assert from "node:assert/strict";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { deriveKeks, readKekFile, requestDigestOf } from "../../../src/server/secrets/index.ts";
import { KEK_FILE, kekOf } from "./cluster.ts";

function makeDir(t: TestContext): string {
  const dir = mkdtempSync(join(tmpdir(), "gateway-kek-"));
  t.after(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}

test("the key derived from file and secret differs with either, and its id discloses neither", () => {
  const [one, two] = [kekOf("one"), kekOf("two")];
  const keys = [
    deriveKeks({ secret: one }),
    deriveKeks({ secret: two }),
    deriveKeks({ secret: one, file: KEK_FILE }),
    deriveKeks({ secret: two, file: KEK_FILE }),
    deriveKeks({ secret: one, file: new Uint8Array([...KEK_FILE, 10]) }),
  ].map(({ current }) => current);
  assert.equal(new Set(keys.map(({ id }) => id)).size, 5);
  assert.equal(new Set(keys.map(({ key }) => Buffer.from(key).toString("hex"))).size, 5);
  assert.match(keys[2]?.id ?? "", /^b:[0-9a-f]{8}$/);
  for (const { id, key } of keys) assert.ok(!Buffer.from(key).toString("hex").includes(id.slice(2)));
  const all = deriveKeks({ secret: two, previous: one, file: KEK_FILE }).all.map(({ id }) => id);
  assert.deepEqual(all, [keys[3]?.id, keys[2]?.id, two.id, one.id]);
});

test("the derivation is pinned, since another one would open nothing sealed before", () => {
  const secret = { id: "s:00000000", key: new Uint8Array(32).fill(1) };
  const { current } = deriveKeks({ secret, file: KEK_FILE });
  assert.equal(current.id, "b:88305fa4");
  assert.equal(
    Buffer.from(current.key).toString("hex"),
    "986a70e403a02259b799d513bf62269598908a19ef296604333d344cd3d3dfe4",
  );
});

test("a request digest depends on the key and the request alone", () => {
  const request = new TextEncoder().encode("x");
  assert.equal(requestDigestOf(kekOf("one"), request), requestDigestOf(kekOf("one"), request));
  assert.notEqual(requestDigestOf(kekOf("one"), request), requestDigestOf(kekOf("two"), request));
  assert.match(requestDigestOf(kekOf("one"), request), /^[0-9a-f]{64}$/);
});

test("a key file is used as it is on disk, from 32 bytes to 64 KiB", (t) => {
  const path = join(makeDir(t), "kek");
  const read = (content: Uint8Array | string) => {
    writeFileSync(path, content, { mode: 0o600 });
    return readKekFile(path);
  };
  const bytes = Buffer.concat([Buffer.from(new Uint8Array(31).fill(255)), Buffer.from("\n")]);
  assert.deepEqual(read(bytes), { kind: "key", bytes });
  for (const [content, problem] of [
    ["canary".repeat(5), /holds 30 bytes; it must hold at least 32$/],
    ["", /holds 0 bytes/],
    [new Uint8Array(65_537), /is larger than 65536 bytes/],
  ] as const) {
    const found = read(content);
    assert.ok(found.kind === "problem");
    assert.match(found.message, problem);
    assert.ok(found.message.startsWith(`kek_file ${path} `) && !found.message.includes("canary"));
  }
});

test("a key file that is missing, not a file, or open to everybody is refused", (t) => {
  const dir = makeDir(t);
  const path = join(dir, "kek");
  const problemOf = () => {
    const found = readKekFile(path);
    return found.kind === "problem" ? found.message : "";
  };
  assert.match(problemOf(), /does not exist$/);
  mkdirSync(path);
  assert.match(problemOf(), /is not a regular file$/);
  rmSync(path, { recursive: true });
  writeFileSync(path, KEK_FILE);
  for (const mode of [0o644, 0o602, 0o604]) {
    chmodSync(path, mode);
    assert.match(problemOf(), /is readable or writable for every user.*chmod o-rw/);
  }
  for (const mode of [0o600, 0o640, 0o400]) {
    chmodSync(path, mode);
    assert.equal(readKekFile(path).kind, "key");
  }
});
