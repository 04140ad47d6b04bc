// tier: all
/** Ownership of a directory, its free space, the time to open it, and the effect of a failed write. */

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { ClassicLevel } from "classic-level";
import { openStorage, StorageError } from "../../../../src/server/cluster/storage/index.ts";
import { bootstrap, contents, entries, makeDir, open, refusal } from "./fixtures.ts";

/** Writes a directory like the previous version: a database with two records. */
async function writeFormat1(dir: string): Promise<void> {
  const level = new ClassicLevel(join(dir, "raft"));
  await level.put("m/format", "1");
  await level.put("m/node", "a");
  await level.close();
}

test("a directory of format 1 is upgraded in place", async (t) => {
  const dir = makeDir(t);
  await writeFormat1(dir);
  const storage = await open(t, dir);
  const { identity } = storage.log;
  assert.match(identity.storageId, /^[0-9a-f]{32}$/);
  assert.deepEqual(
    { ...identity, storageId: "" },
    {
      nodeId: "a",
      storageId: "",
      recoveryEpoch: 0,
      clusterId: undefined,
      hasJoined: false,
    },
  );
  await bootstrap(storage);
  await storage.close();
  const again = await open(t, dir);
  assert.equal(again.log.identity.storageId, identity.storageId);
  assert.equal(again.log.isBlank, false);
});

test("a directory of format 1 is upgraded after it refused another node's name", async (t) => {
  const dir = makeDir(t);
  await writeFormat1(dir);
  await assert.rejects(openStorage({ dir, nodeId: "b" }), refusal("wrong_node", /belongs to node "a"/));
  assert.equal((await open(t, dir)).log.isBlank, true);
});

test("a directory remembers that a cluster admitted it, until it founds one", async (t) => {
  const dir = makeDir(t);
  const storage = await open(t, dir);
  await storage.log.join(2);
  assert.deepEqual([storage.log.identity.hasJoined, storage.log.identity.recoveryEpoch], [true, 2]);
  await storage.close();
  const again = await open(t, dir);
  assert.equal(again.log.identity.hasJoined, true);
  await bootstrap(again);
  assert.equal(again.log.identity.hasJoined, false);
  await again.close();
  assert.equal((await open(t, dir)).log.identity.hasJoined, false);
});

test("each directory has a storage id of its own that never changes", async (t) => {
  const [first, second] = [makeDir(t), makeDir(t)];
  const ids: string[] = [];
  for (const dir of [first, second, first]) {
    const storage = await open(t, dir);
    ids.push(storage.log.identity.storageId);
    await storage.close();
  }
  assert.equal(ids[0], ids[2]);
  assert.notEqual(ids[0], ids[1]);
});

test("a directory belongs to the cluster of one secret, until the previous secret is given too", async (t) => {
  const dir = makeDir(t);
  const openFor = async (clusterId: string | undefined, previousClusterId?: string) => {
    const storage = await openStorage({ dir, nodeId: "a", clusterId, previousClusterId });
    const { identity } = storage.log;
    await storage.close();
    return identity.clusterId;
  };
  assert.equal(await openFor(undefined), undefined);
  assert.equal(await openFor("1111111111111111"), "1111111111111111");
  assert.equal(await openFor(undefined), "1111111111111111");
  const refused = refusal("wrong_cluster", /cluster of another secret \(1{16}, this one is 2{16}\).*SECRET_PREVIOUS/);
  await assert.rejects(openFor("2222222222222222"), refused);
  await assert.rejects(openFor("2222222222222222", "3333333333333333"), refused);
  assert.equal(await openFor("2222222222222222", "1111111111111111"), "2222222222222222");
  assert.equal(await openFor("2222222222222222", "1111111111111111"), "2222222222222222");
  await assert.rejects(openFor("1111111111111111"), (error) => error instanceof StorageError);
});

test("low disk space causes a warning, and the free space can be read", async (t) => {
  const dir = makeDir(t);
  const storage = await openStorage({ dir, nodeId: "a", minFreeBytes: Number.MAX_SAFE_INTEGER });
  t.after(() => storage.close());
  assert.match(storage.warnings.join(), /MiB are free for the data directory .*, and writes need \d+ MiB/);
  assert.ok((await storage.freeBytes()) > 0);
});

test("10,000 entries of 1 KB are opened and checked at once", async (t) => {
  const dir = makeDir(t);
  const storage = await open(t, dir);
  await bootstrap(storage);
  await storage.log.append({ entries: [], hardState: { term: 2, vote: "a", commit: 1 }, sync: true });
  for (let from = 2; from <= 9_902; from += 100) {
    await storage.log.append({ entries: entries(from, from + 99, 2, 1_024), hardState: undefined, sync: true });
  }
  await storage.close();
  const times: number[] = [];
  for (let run = 0; run < 3; run++) {
    const begun = performance.now();
    const again = await openStorage({ dir, nodeId: "a" });
    times.push(performance.now() - begun);
    assert.equal(again.log.lastIndex(), 10_001);
    await again.close();
  }
  const best = Math.min(...times);
  t.diagnostic(`opened in ${times.map((each) => each.toFixed(0)).join(", ")} ms (goal 400)`);
  // The goal is for an idle machine; slow ones take four times as long, and quadratic work far longer.
  assert.ok(best < 5_000, `${best} ms`);
});

/** A file system of 8 MiB; `undefined` if it cannot be mounted. */
function smallDisk(t: TestContext): string | undefined {
  const dir = mkdtempSync(join(tmpdir(), "gateway-small-"));
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=8m", "tmpfs", dir], { stdio: "ignore" });
  } catch {
    rmSync(dir, { recursive: true, force: true });
    return undefined;
  }
  t.after(() => {
    execFileSync("umount", ["-l", dir]);
    rmSync(dir, { recursive: true, force: true });
  });
  return dir;
}

test("the first failed write is the last: a full disk that gets room again acknowledges nothing more (bug 28)", async (t) => {
  const disk = smallDisk(t);
  if (disk === undefined) return t.skip("mounting a small tmpfs needs the superuser");
  const dir = join(disk, "data");
  const storage = await open(t, dir);
  await bootstrap(storage);
  await storage.log.append({ entries: [], hardState: { term: 2, vote: "a", commit: 1 }, sync: true });
  const ballast = join(disk, "ballast");
  writeFileSync(ballast, Buffer.alloc(3 << 20));
  let acknowledged = 1;
  let failure: unknown;
  while (failure === undefined) {
    try {
      const added = entries(acknowledged + 1, acknowledged + 1, 2, 1_500);
      await storage.log.append({ entries: added, hardState: undefined, sync: true });
      acknowledged += 1;
    } catch (error) {
      failure = error;
    }
  }
  assert.ok(refusal("disk_full", /is full .*: free space on it, then start again/)(failure));
  rmSync(ballast);
  const next = { entries: entries(acknowledged + 1, acknowledged + 1, 2), hardState: undefined, sync: true };
  for (let attempt = 0; attempt < 3; attempt++)
    await assert.rejects(storage.log.append(next), (error) => error === failure);
  await assert.rejects(storage.close(), (error) => error === failure);
  const again = await open(t, dir);
  assert.ok(again.log.lastIndex() >= acknowledged, `${again.log.lastIndex()} of ${acknowledged}`);
  assert.equal(contents(again).length, again.log.lastIndex() - 1);
  await again.log.append({ ...next, entries: entries(again.log.lastIndex() + 1, again.log.lastIndex() + 1, 2) });
});

test("a start on a full disk reports it", async (t) => {
  const disk = smallDisk(t);
  if (disk === undefined) return t.skip("mounting a small tmpfs needs the superuser");
  try {
    writeFileSync(join(disk, "ballast"), Buffer.alloc(9 << 20));
  } catch {
    // Full as intended.
  }
  await assert.rejects(openStorage({ dir: join(disk, "data"), nodeId: "a" }), refusal("disk_full", /free space/));
});
