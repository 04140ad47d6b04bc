/** One node with its worker thread and its disk. */

import assert from "node:assert/strict";
import { readdirSync, rmSync, truncateSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { ClusterError } from "../../../src/server/cluster/cluster-error.ts";
import { openCluster } from "../../../src/server/cluster/open-cluster.ts";
import { putBlob } from "../../../src/server/cluster/snapshots/put-blob.ts";
import { StorageError } from "../../../src/server/cluster/storage-error.ts";
import { keyRowKey } from "../../../src/server/core/state/index.ts";
import { archiveOf, bytesOf, makeDir, piecesOf, stateOf, sumsOf } from "./support/archives.ts";
import { BY, bigCommand, hasKey, openAlone, options, optionsAlone, writeKey } from "./support/cluster-bench.ts";
import { keyCommand, openFor as openStorageFor } from "./support/machine-bench.ts";
import { failure, until } from "./support/outcome.ts";

test("a write answers once its effect is readable here and watchers were notified", async (t) => {
  const node = await openAlone(t);
  const reported: string[] = [];
  node.view.watch("key/", (mutations) => reported.push(...(mutations ?? []).map(({ key }) => key)));
  await writeKey(node, "one");
  assert.ok(hasKey(node, "one"));
  assert.ok(reported.includes(keyRowKey("one")));
  assert.ok(node.view.appliedIndex > 1);
  assert.equal(node.status().role, "leader");
  await node.readBarrier({ timeoutMs: 5_000 });
});

test("a refused command is a result and leaves nothing behind", async (t) => {
  const node = await openAlone(t);
  await writeKey(node, "one");
  const result = await node.write(keyCommand("one"), options());
  assert.equal(result.kind, "refused");
});

test("concurrent writes are each executed once, in request order", async (t) => {
  const node = await openAlone(t);
  const names = Array.from({ length: 300 }, (_, at) => `key${String(at).padStart(3, "0")}`);
  const ended: string[] = [];
  await Promise.all(names.map((name) => writeKey(node, name).then(() => ended.push(name))));
  assert.deepEqual(ended, names);
  assert.ok(names.every((name) => hasKey(node, name)));
});

test("writes above the concurrency limit are refused as busy at once", async (t) => {
  const node = await openAlone(t);
  const outcomes = await Promise.allSettled(Array.from({ length: 1_010 }, (_, at) => writeKey(node, `key${at}`)));
  const failed = outcomes.flatMap((each) => (each.status === "rejected" ? [each.reason as ClusterError] : []));
  assert.equal(failed.length, 10);
  for (const error of failed) failure("busy")(error);
});

test("a repeated request under an idempotency key gets the first result, and another request is a conflict", async (t) => {
  const node = await openAlone(t);
  const idempotency = { key: "unix:0/k1", digest: "a".repeat(64) };
  const first = await node.write(keyCommand("one"), options({ idempotency }));
  assert.equal(first.kind, "ok");
  const version = node.view.version("key/");
  assert.deepEqual(await node.write(keyCommand("one"), options({ idempotency })), first);
  assert.equal(node.view.version("key/"), version);
  const other = await node.write(
    keyCommand("two"),
    options({ idempotency: { ...idempotency, digest: "b".repeat(64) } }),
  );
  assert.equal(other.kind, "refused");
  assert.equal(other.kind === "refused" && other.code, "conflict");
  assert.equal(hasKey(node, "two"), false);
});

test("a write above one mebibyte is refused before it is proposed, and a document goes in parts", async (t) => {
  const node = await openAlone(t);
  const before = node.status().lastIndex;
  await assert.rejects(node.write(bigCommand(1_048_576), options()), failure("entry_too_large", /at most 1048576/));
  assert.equal(node.status().lastIndex, before);
  const bytes = Buffer.alloc(1_300_000, "document ");
  assert.equal((await putBlob(node, bytes, options())).parts, 3);
});

test("an abort ends the wait with its reason, and the node continues", async (t) => {
  const node = await openAlone(t);
  const stop = new AbortController();
  const waiting = node.write(keyCommand("one"), options({ signal: stop.signal }));
  stop.abort(new Error("the client went away"));
  await assert.rejects(waiting, /the client went away/);
  await assert.rejects(node.write(keyCommand("never"), options({ signal: stop.signal })), /the client went away/);
  await writeKey(node, "two");
  assert.equal(hasKey(node, "never"), false);
});

test("close ends every running write, and acknowledged ones are there afterwards", async (t) => {
  const dataDir = makeDir(t);
  const node = await openAlone(t, { dataDir });
  await writeKey(node, "first");
  const done: string[] = [];
  const writes = Array.from({ length: 400 }, (_, at) => writeKey(node, `key${at}`).then(() => done.push(`key${at}`)));
  await writes[0];
  await node.close();
  const outcomes = await Promise.allSettled(writes);
  for (const each of outcomes) if (each.status === "rejected") failure("no_leader")(each.reason);
  assert.equal(await node.ended, undefined);
  await assert.rejects(node.write(keyCommand("late"), options()), failure("no_leader", /stopping/));
  await node.close();

  const again = await openAlone(t, { dataDir });
  for (const name of ["first", ...done]) assert.ok(hasKey(again, name), name);
  assert.equal(hasKey(again, "late"), false);
});

test("bug 13: a restart keeps every acknowledged write, the storage's identity and the results of idempotency keys", async (t) => {
  const dataDir = makeDir(t);
  const node = await openAlone(t, { dataDir });
  const idempotency = { key: "unix:0/k1", digest: "a".repeat(64) };
  const first = await node.write(keyCommand("one"), options({ idempotency }));
  for (let at = 0; at < 20; at += 1) await writeKey(node, `key${at}`);
  const before = node.status();
  const rows = [...node.view.scan("key/")];
  await node.close();

  const again = await openAlone(t, { dataDir });
  assert.deepEqual([...again.view.scan("key/")], rows, "the view holds them at once");
  assert.equal(again.status().storageId, before.storageId);
  assert.deepEqual(await again.write(keyCommand("one"), options({ idempotency })), first);
  assert.ok(again.status().term > before.term);
});

test("a snapshot of one node is restored on another, which keeps its own members", async (t) => {
  const source = await openAlone(t, { nodeId: "source" });
  for (let at = 0; at < 50; at += 1) await writeKey(source, `key${at}`);
  const written = source.view.appliedIndex;
  const { info, archive } = await source.saveSnapshot({ stale: false, signal: new AbortController().signal });
  const bytes = await bytesOf(archive);
  // The node may write entries of its own meanwhile.
  assert.ok(info.index >= written && info.index <= source.view.appliedIndex, `${info.index} after ${written}`);
  await until("the status names the snapshot", () => source.status().snapshotIndex === info.index);

  const dataDir = makeDir(t);
  const target = await openAlone(t, { dataDir, nodeId: "target" });
  await writeKey(target, "gone");
  const reported: unknown[] = [];
  target.view.watch("key/", (mutations) => reported.push(mutations));
  assert.deepEqual(await target.restore(piecesOf(bytes), options()), info);
  assert.deepEqual(reported, [undefined]);
  assert.equal(hasKey(target, "gone"), false);
  assert.deepEqual([...target.view.scan("key/")], [...source.view.scan("key/")]);
  assert.deepEqual(
    target.status().members.map(({ id }) => id),
    ["target"],
  );
  await writeKey(target, "after");
  await until("the log before the restore is dropped", () => target.status().snapshotIndex > 1);
  const rows = [...target.view.scan("key/")];
  await target.close();
  const again = await openAlone(t, { dataDir, nodeId: "target" });
  assert.deepEqual([...again.view.scan("key/")], rows);
  assert.deepEqual(
    readdirSync(dataDir).filter((name) => name.includes("restore")),
    [],
  );
});

test("a refused restore leaves everything unchanged and no file behind", async (t) => {
  const dataDir = makeDir(t);
  const node = await openAlone(t, { dataDir });
  await writeKey(node, "stays");
  // A leader raises it automatically within a second.
  await until("the feature level is there", () => node.view.get("feat/level") !== undefined);
  const before = { rows: [...node.view.scan("")], index: node.view.appliedIndex };
  const { bytes, meta } = stateOf([["ring/dk-1", '1{"id":"dk-1"}']]);
  const sealed = [
    { name: "meta.json", data: JSON.stringify(meta) },
    { name: "state.bin", data: bytes },
  ];
  const whole = await archiveOf([...sealed, sumsOf(...sealed)]);
  const cases = [
    [whole, /malformed/],
    [whole.subarray(0, -20), /the archive is refused/],
    [Buffer.from("no archive"), /not a gzip file/],
  ] as const;
  for (const [archive, why] of cases) {
    await assert.rejects(node.restore(piecesOf(archive), options()), failure("refused", why));
  }
  assert.deepEqual({ rows: [...node.view.scan("")], index: node.view.appliedIndex }, before);
  assert.deepEqual(
    readdirSync(dataDir).filter((name) => name.includes("restore")),
    [],
  );
});

test("rows that no command could have made are refused, even in a well-formed archive", async (t) => {
  const node = await openAlone(t);
  await writeKey(node, "stays");
  const { bytes, meta } = stateOf([["key/forged", "1not json"]]);
  const members = [
    { name: "meta.json", data: JSON.stringify(meta) },
    { name: "state.bin", data: bytes },
  ];
  const archive = await archiveOf([...members, sumsOf(...members)]);
  await assert.rejects(node.restore(piecesOf(archive), options()), failure("refused"));
  assert.ok(hasKey(node, "stays"));
  await writeKey(node, "after");
});

test("a directory opened by another process is refused with a storage error", async (t) => {
  const dataDir = makeDir(t);
  await (await openAlone(t, { dataDir })).close();
  const holder = await openStorageFor(t, dataDir);
  await assert.rejects(openCluster(optionsAlone(dataDir)), (error: unknown) => {
    assert.ok(error instanceof StorageError, String(error));
    assert.equal(error.code, "locked");
    return true;
  });
  await holder.close();
  await openAlone(t, { dataDir });
});

test("a damaged directory and one of another node are refused with storage errors", async (t) => {
  const dataDir = makeDir(t);
  await (await openAlone(t, { dataDir })).close();
  const opened = openCluster(optionsAlone(dataDir, { nodeId: "other" }));
  await assert.rejects(opened, (error: unknown) => error instanceof StorageError && error.code === "wrong_node");
  for (const name of readdirSync(join(dataDir, "raft"))) {
    if (/^MANIFEST|\.ldb$/.test(name)) truncateSync(join(dataDir, "raft", name), 3);
  }
  await assert.rejects(openCluster(optionsAlone(dataDir)), (error: unknown) => {
    assert.ok(error instanceof StorageError, String(error));
    assert.equal(error.code, "damaged");
    assert.match(error.message, /gateway cluster recover/);
    return true;
  });
});

test("a disk failure at run time ends the node with a storage error, and pending writes are reported as possibly done", async (t) => {
  const dataDir = makeDir(t);
  const node = await openAlone(t, { dataDir });
  await writeKey(node, "one");
  rmSync(join(dataDir, "raft"), { recursive: true });
  // The log fails when it needs a new file.
  const writeMuch = async (): Promise<void> => {
    for (let at = 0; at < 500; at += 1) {
      await node.write(keyCommand(`key${at}`, { text: "x".repeat(900_000) }), { by: BY, timeoutMs: 20_000 });
    }
  };
  await assert.rejects(
    Promise.all([writeMuch(), writeMuch()]),
    failure("no_leader", /may still/, { outcome: "unknown" }),
  );
  const ended = await node.ended;
  assert.ok(ended instanceof StorageError, String(ended));
  const late = node.write(keyCommand("late"), options());
  await assert.rejects(late, failure("no_leader", /another node/, { outcome: "not-applied" }));
});

test("an abort during the opening ends the worker, and the directory can be opened again", async (t) => {
  const dataDir = makeDir(t);
  const stop = new AbortController();
  const opening = openCluster(optionsAlone(dataDir), stop.signal);
  stop.abort(new Error("stopped"));
  await assert.rejects(opening, /stopped/);
  await assert.rejects(openCluster(optionsAlone(dataDir), stop.signal), /stopped/);
  await openAlone(t, { dataDir });
});
