/** When a snapshot is made, which log entries it drops, and to whom it is sent. Over a real data directory. */

import assert from "node:assert/strict";
import { existsSync, readdirSync } from "node:fs";
import { type TestContext, test } from "node:test";
import { createSnapshotSender } from "../../../../src/server/cluster/snapshots/send-snapshot.ts";
import {
  createSnapshotSchedule,
  describeSnapshot,
  type SnapshotSchedule,
} from "../../../../src/server/cluster/snapshots/snapshot-schedule.ts";
import type { SnapshotRecord } from "../../../../src/server/cluster/storage/index.ts";
import type { Entry, Message } from "../../../../src/server/core/raft/index.ts";
import { configuration } from "../support/driver-bench.ts";
import { memberOf } from "../support/leader-bench.ts";
import { keyCommand, type MachineBench, machineBench } from "../support/machine-bench.ts";
import { silentNetwork } from "../support/network.ts";
import { failure, memoryLog, until } from "../support/outcome.ts";

interface Bench extends MachineBench {
  readonly snapshots: SnapshotSchedule;
  readonly stop: AbortController;
  lowestMatch: number;
  isInstalling: boolean;
  compacted: number;
  /** Appends and applies entries up to and including `last`, without rows. */
  fill(last: number, bytes?: number): Promise<void>;
}

const EVERY = 8_192;

async function bench(t: TestContext): Promise<Bench> {
  const machine = await machineBench(t);
  const stop = new AbortController();
  const made: Bench = Object.assign(machine, {
    stop,
    lowestMatch: Number.MAX_SAFE_INTEGER,
    isInstalling: false,
    compacted: 0,
    snapshots: createSnapshotSchedule({
      storage: machine.storage,
      writer: machine.writer,
      lowestMatch: () => made.lowestMatch,
      isInstalling: () => made.isInstalling,
      onCompacted: () => {
        made.compacted += 1;
      },
      onFault: (error) => machine.faults.push(error),
      signal: stop.signal,
    }),
    async fill(last: number, bytes = 8) {
      const { log } = machine.storage;
      const data = Buffer.alloc(bytes);
      while (log.lastIndex() < last) {
        const from = log.lastIndex() + 1;
        const count = Math.min(last - from + 1, bytes > 1_000 ? 8 : 2_048);
        const entries = Array.from(
          { length: count },
          (_, at): Entry => ({ index: from + at, term: 1, kind: "normal", data }),
        );
        await log.append({ entries, hardState: undefined, sync: true });
      }
      const { state, configuration: of } = machine.machine;
      machine.writer.add([], {
        applied: { ...state.applied, index: last },
        digest: state.digest,
        configuration: of,
      });
      await machine.writer.flush();
    },
  });
  return made;
}

const filesOf = ({ dir }: Bench): readonly string[] => readdirSync(dir).filter((name) => name.startsWith("snap-"));

test("a snapshot is due after 8,192 applied entries, and not before", async (t) => {
  const made = await bench(t);
  await made.fill(EVERY);
  made.snapshots.makeIfDue();
  await made.writer.runExclusive(async () => undefined);
  assert.equal(made.storage.log.snapshotRecord?.index, 1);
  await made.fill(EVERY + 1);
  made.snapshots.makeIfDue();
  made.snapshots.makeIfDue();
  await until("the snapshot is recorded", () => made.compacted === 1);
  assert.equal(made.storage.log.snapshotRecord?.index, EVERY + 1);
  assert.equal(made.storage.log.firstIndex(), 2, "10,240 entries stay behind a snapshot");
  made.snapshots.makeIfDue();
  await until("its file is the only one", () => filesOf(made).length === 1);
  assert.deepEqual(made.faults, []);
});

test("entries more than 10,240 behind are dropped, unless a reachable member needs them", async (t) => {
  const made = await bench(t);
  await made.fill(11_000);
  made.lowestMatch = 300;
  await made.snapshots.make();
  assert.equal(made.storage.log.firstIndex(), 301);
  made.lowestMatch = Number.MAX_SAFE_INTEGER;
  await made.fill(11_001);
  await made.snapshots.make();
  assert.equal(made.storage.log.firstIndex(), 11_001 - 10_240 + 1);
});

test("a large log is due early, and its entries are all dropped", async (t) => {
  const made = await bench(t);
  await made.fill(65, 1024 * 1024);
  assert.ok(made.storage.log.byteLength >= 64 * 1024 * 1024);
  made.snapshots.makeIfDue();
  await until("the log is compacted", () => made.compacted === 1, 30_000);
  assert.equal(made.storage.log.firstIndex(), 66);
});

test("after a large snapshot the log must have its size", async (t) => {
  const made = await bench(t);
  const { log } = made.storage;
  await made.fill(2);
  // Only the stated size is large.
  await log.recordSnapshot({ ...(await made.snapshots.make()), size: 66 * 1024 * 1024 }, 2);
  made.compacted = 0;
  await made.fill(67, 1024 * 1024);
  assert.ok(log.byteLength >= 64 * 1024 * 1024);
  made.snapshots.makeIfDue();
  await made.writer.runExclusive(async () => undefined);
  assert.equal(log.snapshotRecord?.index, 2);
  await made.fill(69, 1024 * 1024);
  made.snapshots.makeIfDue();
  await until("the snapshot is recorded", () => made.compacted === 1, 30_000);
  assert.equal(log.snapshotRecord?.index, 69);
});

test("a full snapshot keeps no log entries, whichever member needs them", async (t) => {
  const made = await bench(t);
  await made.fill(20);
  made.lowestMatch = 3;
  const record = await made.snapshots.make({ dropsWholeLog: true });
  assert.equal(record.index, 20);
  assert.equal(made.storage.log.firstIndex(), 21);
});

test("a second snapshot at the same index is the existing one, and older files are removed", async (t) => {
  const made = await bench(t);
  await made.apply(keyCommand("one"));
  const first = await made.snapshots.make();
  assert.deepEqual(await made.snapshots.make(), first);
  await made.apply(keyCommand("two"));
  const second = await made.snapshots.make();
  assert.equal(second.index, first.index + 1);
  assert.notEqual(second.digest, first.digest);
  assert.deepEqual(filesOf(made), [`snap-${second.term}-${second.index}.bin`]);
});

test("while a received file waits for installation no file is removed, since no record names it yet", async (t) => {
  const made = await bench(t);
  await made.apply(keyCommand("one"));
  await made.snapshots.make();
  made.isInstalling = true;
  await made.apply(keyCommand("two"));
  await made.snapshots.make();
  assert.equal(filesOf(made).length, 2);
  made.isInstalling = false;
  await made.apply(keyCommand("three"));
  await made.snapshots.make();
  assert.equal(filesOf(made).length, 1);
});

test("concurrent snapshot requests run one after the other, each with everything applied before the request", async (t) => {
  const made = await bench(t);
  await made.apply(keyCommand("one"));
  const first = made.snapshots.make();
  await made.apply(keyCommand("two"));
  const second = made.snapshots.make();
  await first;
  assert.equal((await second).index, 3);
});

test("a node without a state has no snapshot, and a stopping one starts none", async (t) => {
  const made = await bench(t);
  const nothing = createSnapshotSchedule({
    storage: made.storage,
    writer: { ...made.writer, position: () => ({ ...made.writer.position(), applied: { index: 0, term: 0, now: 0 } }) },
    lowestMatch: () => 0,
    isInstalling: () => false,
    onCompacted: () => undefined,
    onFault: assert.fail,
    signal: made.stop.signal,
  });
  await assert.rejects(nothing.make(), failure("no_leader", /no state yet/));
  await made.fill(EVERY + 1);
  made.stop.abort();
  made.snapshots.makeIfDue();
  await assert.rejects(made.snapshots.make());
  assert.deepEqual(filesOf(made), []);
  assert.deepEqual(made.faults, []);
});

test("the description of a snapshot lists the members by their role in its configuration", () => {
  const record: SnapshotRecord = {
    index: 20,
    term: 3,
    now: 7,
    rows: 4,
    digest: "d".repeat(32),
    size: 100,
    sha256: "",
    configuration: { ...configuration("a"), learners: ["b"] },
  };
  const meta = describeSnapshot(record, {
    members: [memberOf("a"), memberOf("b"), memberOf("gone")],
    featureLevel: 1,
    clusterId: undefined,
    version: "1.0.0",
    node: "a",
    isLeader: false,
  });
  assert.equal(meta.id, "3-20-7");
  assert.equal(meta.cluster_id, null);
  assert.deepEqual(meta.configuration, { voters: [memberOf("a")], learners: [memberOf("b")] });
  assert.deepEqual([meta.size, meta.rows, meta.leader], [100, 4, false]);
});

const message = (index: number): Message => ({
  type: "MsgSnap",
  from: "a",
  to: "b",
  term: 1,
  logTerm: 0,
  index: 0,
  commit: 0,
  reject: false,
  transfer: false,
  hintIndex: 0,
  hintTerm: 0,
  context: undefined,
  entries: [],
  snapshot: { index, term: 1, configuration: configuration("a", "b") },
});

async function sending(t: TestContext, knownSince = 0) {
  const made = await bench(t);
  const network = silentNetwork();
  const { log, lines } = memoryLog();
  const reports: string[] = [];
  const send = createSnapshotSender({
    storage: made.storage,
    network,
    snapshots: made.snapshots,
    minSnapshotIndex: () => knownSince,
    report: (to, isInstalled) => reports.push(`${to} ${isInstalled}`),
    log,
    signal: made.stop.signal,
  });
  return { made, network, lines, reports, send };
}

test("the newest snapshot is sent if it is the requested one", async (t) => {
  const { made, network, reports, send } = await sending(t);
  await made.apply(keyCommand("one"));
  const record = await made.snapshots.make();
  await send(message(record.index));
  assert.deepEqual(reports, ["b true"]);
  assert.deepEqual(
    network.sentSnapshots.map(({ record: { index } }) => index),
    [2],
  );
  assert.ok(existsSync(network.sentSnapshots[0]?.path ?? ""));
});

test("the first configuration has no file, so a snapshot is made and named by the next message", async (t) => {
  const { made, network, reports, send } = await sending(t);
  await made.apply(keyCommand("one"));
  await send(message(1));
  assert.deepEqual([network.sentSnapshots, reports], [[], ["b false"]]);
  assert.equal(made.storage.log.snapshotRecord?.index, 2);
  await send(message(2));
  assert.deepEqual(reports, ["b false", "b true"]);
});

test("a snapshot from before the member was added is not sent to it: a new one is made", async (t) => {
  const { made, network, reports, send } = await sending(t, 3);
  await made.apply(keyCommand("one"));
  await made.snapshots.make();
  await made.apply(keyCommand("two"));
  await send(message(2));
  assert.deepEqual([network.sentSnapshots, reports], [[], ["b false"]]);
  assert.equal(made.storage.log.snapshotRecord?.index, 3);
});

test("a snapshot that is no longer the newest is not sent, and none is made for it", async (t) => {
  const { made, network, reports, send } = await sending(t);
  await made.apply(keyCommand("one"));
  await made.snapshots.make();
  await send(message(1));
  assert.deepEqual([network.sentSnapshots, reports], [[], ["b false"]]);
});

test("a failed transfer is reported and logged, except while stopping", async (t) => {
  const { made, network, lines, reports, send } = await sending(t);
  await made.apply(keyCommand("one"));
  await made.snapshots.make();
  network.transfer = () => Promise.reject(new Error("the link broke"));
  await send(message(2));
  assert.deepEqual(reports, ["b false"]);
  assert.deepEqual(
    lines.map(({ level }) => level),
    ["warn"],
  );
  made.stop.abort();
  await send(message(2));
  assert.equal(lines.length, 1);
});
