/** The state machine between log, disk and main thread, over a real data directory. */

import assert from "node:assert/strict";
import { copyFileSync, readFileSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import type { SnapshotRecord } from "../../../../src/server/cluster/storage/index.ts";
import { encodeConfChange } from "../../../../src/server/core/raft/index.ts";
import { commands, type NamedCommand } from "../../../../src/server/core/state/index.ts";
import { makeDir, sha256, stateOf } from "../support/archives.ts";
import { configuration } from "../support/driver-bench.ts";
import { memberOf } from "../support/leader-bench.ts";
import { keyCommand, type MachineBench, machineBench, rowsOn } from "../support/machine-bench.ts";
import { until } from "../support/outcome.ts";

async function takeSnapshot(bench: MachineBench): Promise<SnapshotRecord> {
  await bench.writer.flush();
  let record: SnapshotRecord | undefined;
  await bench.writer.runExclusive(async (store) => {
    const { applied, configuration: of } = bench.writer.position();
    const { index, term } = applied;
    record = await store.writeSnapshot({ index, term, configuration: of }, new AbortController().signal);
  });
  assert.ok(record !== undefined);
  return record;
}

test("applied entries are reported once, at the end of the turn or on request, and reach the disk", async (t) => {
  const bench = await machineBench(t);
  await bench.apply(keyCommand("one"));
  await bench.apply(keyCommand("two"));
  bench.machine.flush();
  bench.machine.flush();
  assert.equal(bench.reported.at(-1)?.index, 3);
  const found = bench.reported.flatMap(({ mutations }) => mutations.map(({ key }) => key));
  assert.equal(new Set(found).size, found.length);
  assert.ok(
    found.every((key) => !key.startsWith("sess/")),
    found.join(" "),
  );

  await bench.apply(keyCommand("three"));
  await until("the rows are reported without a request", () => bench.reported.at(-1)?.index === 4);

  await bench.writer.flush();
  await bench.storage.close();
  const { rows, index } = await rowsOn(t, bench.dir);
  assert.equal(index, 4);
  assert.deepEqual(rows, [...bench.machine.state.scan("")]);
});

test("an entry that changes no public row still reports its index", async (t) => {
  const bench = await machineBench(t);
  await bench.apply(commands.blobPut({ sha256: sha256("x"), part: 0, of: 2, data: "eA==" }));
  bench.machine.flush();
  assert.deepEqual(bench.reported, [{ mutations: [], index: 2 }]);
});

test("a wait for an index ends when it is applied or at its timeout", async (t) => {
  const bench = await machineBench(t);
  assert.equal(await bench.machine.whenApplied(1, 1_000), true);
  const waiting = [bench.machine.whenApplied(2, 10_000), bench.machine.whenApplied(3, 10_000)];
  await bench.apply(keyCommand("one"));
  assert.equal(await waiting[0], true);
  await bench.apply(keyCommand("two"));
  assert.equal(await waiting[1], true);
  assert.equal(await bench.machine.whenApplied(99, 1), false);
});

test("a membership change is applied with its rows and reported as the configuration", async (t) => {
  const bench = await machineBench(t);
  const context = Buffer.from(JSON.stringify({ added: [memberOf("b")] }));
  const change = { transition: "auto", changes: [{ type: "add-learner", nodeId: "b" }], context } as const;
  const after = { ...configuration("a"), learners: ["b"] };
  const entry = { index: 2, term: 1, kind: "conf-change", data: encodeConfChange(change) } as const;
  bench.machine.apply(entry, { change, configuration: after });
  assert.deepEqual(bench.configurations, [2]);
  assert.deepEqual(bench.machine.configuration, after);
  bench.machine.flush();
  assert.deepEqual(
    bench.reported.flatMap(({ mutations }) => mutations.map(({ key }) => key)),
    ["member/b"],
  );
});

test("rows that differ from the leader's are noticed at the comparison, and equal ones pass", async (t) => {
  const bench = await machineBench(t);
  await bench.apply(commands.stateCheck({ index: 1, digest: bench.machine.state.digest }));
  assert.deepEqual(bench.diverged, []);
  const { index } = bench.machine.state.applied;
  await bench.apply(commands.stateCheck({ index, digest: "0".repeat(32) }));
  assert.deepEqual(bench.diverged, [index + 1]);
});

async function restore(bench: MachineBench, state: ReturnType<typeof stateOf>): Promise<void> {
  const sum = sha256(state.bytes);
  await bench.apply(commands.blobPut({ sha256: sum, part: 0, of: 1, data: state.bytes.toString("base64") }));
  const { rows, digest } = state.meta;
  const command: NamedCommand = commands.stateRestore({ sha256: sum, parts: 1, rows, digest });
  await bench.apply(command);
}

test("a restore replaces every row, in memory and on the disk, in a generation of its own", async (t) => {
  const other = await machineBench(t, makeDir(t));
  await other.apply(keyCommand("restored"));
  const rows = [...other.machine.state.scan("")].filter(([key]) => !key.startsWith("sess/"));

  const bench = await machineBench(t);
  await bench.apply(keyCommand("gone"));
  await restore(bench, stateOf(rows));
  await until("the restored rows are on the disk", () => bench.restored === 1);
  assert.deepEqual(bench.faults, []);
  const { index } = bench.machine.state.applied;
  assert.equal(bench.replaced.at(-1)?.index, index);
  const names = (bench.replaced.at(-1)?.rows ?? []).map(([key]) => key);
  assert.ok(names.some((key) => key.includes("restored")));
  assert.equal(
    names.some((key) => key.includes("gone") || key.startsWith("blob/")),
    false,
  );
  await bench.apply(keyCommand("after"));
  await bench.writer.flush();
  assert.ok(bench.storage.state().generation > 1);
  await bench.storage.close();
  const disk = await rowsOn(t, bench.dir);
  assert.equal(disk.index, index + 1);
  assert.deepEqual(disk.rows, [...bench.machine.state.scan("")]);
});

test("a restore is prepared once, however often the driver asks for it", async (t) => {
  const bench = await machineBench(t);
  await bench.apply(keyCommand("stays"));
  const rows = [...bench.machine.state.scan("")].filter(([key]) => !key.startsWith("sess/"));
  const { bytes, meta } = stateOf(rows);
  const sum = sha256(bytes);
  await bench.apply(commands.blobPut({ sha256: sum, part: 0, of: 1, data: bytes.toString("base64") }));
  const entry = bench.entryOf(commands.stateRestore({ sha256: sum, parts: 1, rows: meta.rows, digest: meta.digest }));
  const { index } = bench.machine.state.applied;
  for (let again = 0; again < 3; again += 1) assert.equal(bench.machine.apply(entry, undefined), "preparing");
  await until("the entry is prepared", () => bench.prepared === 1);
  assert.equal(bench.machine.state.applied.index, index, "it is applied when the driver asks for it");
  assert.deepEqual(bench.machine.apply(entry, undefined), { kind: "ok", value: { rows: meta.rows } });
  assert.equal(bench.machine.state.applied.index, index + 1);
  await until("the restored rows are on the disk", () => bench.restored === 1);
  assert.equal(bench.prepared, 1);
});

test("a received snapshot becomes the state, the start of the log and the disk content", async (t) => {
  const sender = await machineBench(t, makeDir(t), "b");
  for (const name of ["one", "two", "three"]) await sender.apply(keyCommand(name));
  const record = await takeSnapshot(sender);

  const bench = await machineBench(t);
  await bench.apply(keyCommand("gone"));
  const waiting = bench.machine.whenApplied(record.index, 10_000);
  const path = bench.storage.snapshotPath(record);
  copyFileSync(sender.storage.snapshotPath(record), path);
  await bench.machine.install(record, path, { term: 1, vote: undefined, commit: record.index });
  assert.equal(await waiting, true);
  assert.equal(bench.machine.state.digest, sender.machine.state.digest);
  assert.deepEqual(bench.machine.configuration, record.configuration);
  assert.equal(bench.replaced.at(-1)?.index, record.index);
  assert.deepEqual(bench.configurations.at(-1), record.index);
  assert.equal(bench.storage.log.firstIndex(), record.index + 1);
  await bench.apply(keyCommand("after"));
  await bench.writer.flush();
  await bench.storage.close();
  assert.deepEqual((await rowsOn(t, bench.dir)).rows, [...bench.machine.state.scan("")]);
});

test("an incomplete received file changes nothing", async (t) => {
  const sender = await machineBench(t, makeDir(t), "b");
  await sender.apply(keyCommand("one"));
  const record = await takeSnapshot(sender);
  const bytes = readFileSync(sender.storage.snapshotPath(record));

  const bench = await machineBench(t);
  await bench.apply(keyCommand("stays"));
  const path = `${bench.dir}/broken.bin`;
  writeFileSync(path, bytes.subarray(0, -4));
  const before = bench.machine.state.digest;
  await assert.rejects(bench.machine.install(record, path, { term: 1, vote: undefined, commit: record.index }));
  assert.equal(bench.machine.state.digest, before);
  assert.equal(bench.storage.log.firstIndex(), 2);
});

test("bug 33: a snapshot under load has the rows of one index, whatever is applied meanwhile", async (t) => {
  const bench = await machineBench(t);
  for (let at = 0; at < 50; at += 1) await bench.apply(keyCommand(`before${at}`));
  await bench.writer.flush();
  let taken: Promise<SnapshotRecord> | undefined;
  const { digest, applied } = bench.machine.state;
  await bench.writer.runExclusive(async (store) => {
    const { index, term } = bench.writer.position().applied;
    assert.equal(index, applied.index);
    const meta = { index, term, configuration: bench.writer.position().configuration };
    taken = store.writeSnapshot(meta, new AbortController().signal);
  });
  for (let at = 0; at < 50; at += 1) await bench.apply(keyCommand(`after${at}`));
  await bench.writer.flush();
  const record = await taken;
  assert.equal(record?.digest, digest);
  assert.equal(record?.index, applied.index);
  assert.notEqual(bench.machine.state.digest, digest);
});
