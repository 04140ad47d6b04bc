/**
 * One driver over scripted ports: an in-memory log, a write that the test completes, and peers as messages. `trace` has
 * the driver's requests in order.
 */

import assert from "node:assert/strict";
import { createDriver } from "../../../../src/server/cluster/consensus/driver.ts";
import type {
  Driver,
  DriverOptions,
  ReadOutcome,
  WriteOutcome,
} from "../../../../src/server/cluster/consensus/driver-types.ts";
import type { LogWrite } from "../../../../src/server/cluster/storage/index.ts";
import {
  type Configuration,
  createMemoryLog,
  type Entry,
  type MemoryLog,
  type Message,
  type SnapshotMeta,
} from "../../../../src/server/core/raft/index.ts";

export interface DriverBench {
  readonly driver: Driver;
  readonly log: MemoryLog;
  readonly trace: string[];
  /** Started and not completed; at most one, by the driver's contract. */
  readonly writing: LogWrite | undefined;
  readonly installing: SnapshotMeta | undefined;
  readonly sent: Message[];
  readonly applied: Entry[];
  mayApply: boolean;
  /** Indexes of entries that take long. A test removes one and calls `resume` when it is prepared. */
  readonly preparing: Set<number>;
  /** Makes the write in flight durable. */
  endWrite(): void;
  endInstall(): void;
  /** Completes writes until none starts. */
  settle(): void;
  receive(message: Partial<Message> & Pick<Message, "type">): void;
  /** Leads the next term with the vote of `b`; `isEstablished` commits its first entry. */
  lead(isEstablished?: boolean): number;
  /** Acknowledges everything up to `index` from `b`. */
  acknowledge(index: number): void;
  propose(text: string): Outcome<WriteOutcome>;
  read(): Outcome<ReadOutcome>;
}

/** Arguments of a callback, in order, so that a test can check that it was called exactly once. */
type Outcome<Value> = Value[];

export const THREE = configuration("a", "b", "c");

export function configuration(...voters: readonly string[]): Configuration {
  return { voters, votersOutgoing: [], learners: [], learnersNext: [], autoLeave: false };
}

export const ELECTION_TICKS = 10;

export function driverBench(members: Configuration = THREE, more: Partial<DriverOptions> = {}): DriverBench {
  const log = createMemoryLog({ snapshot: { index: 1, term: 1, configuration: members } });
  const trace: string[] = [];
  const sent: Message[] = [];
  const applied: Entry[] = [];
  let writing: { readonly write: LogWrite; readonly done: () => void } | undefined;
  let installing: { readonly snapshot: SnapshotMeta; readonly done: () => void } | undefined;

  const driver = createDriver(
    {
      id: "a",
      log,
      applied: 1,
      electionTicks: ELECTION_TICKS,
      heartbeatTicks: 2,
      maxMessageBytes: 64 * 1024,
      maxInflightMessages: 64,
      maxInflightBytes: 1024 * 1024,
      maxUncommittedBytes: 1024 * 1024,
      maxUncommittedEntries: 1_000,
      maxApplyingBytes: 1024 * 1024,
      maxBatchEntries: 100,
      maxBatchBytes: 64 * 1024,
      random: () => 0.5,
      ...more,
    },
    {
      write(write, done) {
        assert.equal(writing, undefined, "a second write began");
        assert.equal(installing, undefined, "a write began beside an installation");
        writing = { write, done };
        trace.push(`write ${write.entries.map(({ index, term }) => `${index}/${term}`).join(" ") || "-"}`);
      },
      install(snapshot, hardState, done) {
        assert.equal(writing, undefined, "an installation began beside a write");
        assert.equal(installing, undefined, "a second installation began");
        installing = {
          snapshot,
          done() {
            log.installSnapshot(snapshot);
            log.setHardState(hardState);
            done();
          },
        };
        trace.push(`install ${snapshot.index}`);
      },
      send(message) {
        sent.push(message);
        trace.push(`send ${message.type} to ${message.to}`);
      },
      sendSnapshot(message) {
        trace.push(`snapshot to ${message.to}`);
      },
      apply(entry, change) {
        if (bench.preparing.has(entry.index)) {
          trace.push(`prepare ${entry.index}`);
          return "preparing";
        }
        applied.push(entry);
        trace.push(`apply ${entry.index}`);
        if (change !== undefined) log.setConfiguration(change.configuration);
        return entry.data.length === 0 || change !== undefined ? undefined : { kind: "ok", value: textOf(entry) };
      },
      mayApply: () => bench.mayApply,
      onStatus: ({ role, term }) => trace.push(`status ${role} ${term}`),
    },
  );

  const bench: DriverBench = {
    driver,
    log,
    trace,
    sent,
    applied,
    mayApply: true,
    preparing: new Set(),
    get writing() {
      return writing?.write;
    },
    get installing() {
      return installing?.snapshot;
    },
    endWrite() {
      assert.ok(writing !== undefined, "no write is in flight");
      const { write, done } = writing;
      writing = undefined;
      log.append(write.entries);
      if (write.hardState !== undefined) log.setHardState(write.hardState);
      trace.push("written");
      done();
    },
    endInstall() {
      assert.ok(installing !== undefined, "nothing is being installed");
      const { done } = installing;
      installing = undefined;
      trace.push("installed");
      done();
    },
    settle() {
      while (writing !== undefined) bench.endWrite();
    },
    receive(message) {
      driver.receive({ ...EMPTY, from: "b", to: "a", term: driver.status().term, ...message });
    },
    lead(isEstablished = true) {
      const term = driver.status().term + 1;
      driver.campaign();
      bench.settle();
      bench.receive({ type: "MsgPreVoteResp", term });
      bench.settle();
      bench.receive({ type: "MsgVoteResp", term });
      assert.equal(driver.status().role, "leader");
      bench.settle();
      if (isEstablished) bench.acknowledge(driver.status().lastIndex);
      trace.length = 0;
      sent.length = 0;
      return term;
    },
    acknowledge(index) {
      bench.receive({ type: "MsgAppResp", index });
    },
    propose(text) {
      const outcomes: WriteOutcome[] = [];
      driver.propose(Buffer.from(text), (outcome) => outcomes.push(outcome));
      return outcomes;
    },
    read() {
      const outcomes: ReadOutcome[] = [];
      driver.read((outcome) => outcomes.push(outcome));
      return outcomes;
    },
  };
  return bench;
}

const EMPTY: Omit<Message, "type"> = {
  from: "",
  to: "",
  term: 0,
  logTerm: 0,
  index: 0,
  commit: 0,
  reject: false,
  transfer: false,
  hintIndex: 0,
  hintTerm: 0,
  context: undefined,
  entries: [],
  snapshot: undefined,
};

export function entry(index: number, term: number, text = `${index}/${term}`): Entry {
  return { index, term, kind: "normal", data: Buffer.from(text) };
}

export function textOf({ data }: Pick<Entry, "data">): string {
  return Buffer.from(data).toString();
}
