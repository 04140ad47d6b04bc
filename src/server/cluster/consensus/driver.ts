/**
 * Driver of the consensus core: carries out each `Ready` in order. Types and rules: `driver-types.ts`; cluster reference,
 * section 2.2.
 *
 * Appends form a queue: one write is in flight, and appends that arrive meanwhile are combined into the next one (group
 * commit). A snapshot installation is never combined. Messages that promise durability leave when their append has ended.
 */

import type {
  AppendAck,
  ConfChange,
  Entry,
  HardState,
  Message,
  ProposeOutcome,
  Raft,
  ReadState,
  Ready,
  SnapshotMeta,
} from "../../core/raft/index.ts";
import { createRaft, decodeConfChange } from "../../core/raft/index.ts";
import type { CommandResult } from "../../core/state/index.ts";
import type { Driver, DriverOptions, DriverPorts, ReadOutcome, WriteOutcome } from "./driver-types.ts";
import { liftCommit } from "./lift-commit.ts";
import { refusalOf } from "./refused-proposal.ts";

interface Append {
  readonly kind: "append";
  entries: Entry[];
  bytes: number;
  hardState: HardState | undefined;
  isSynced: boolean;
  readonly acks: AppendAck[];
  readonly after: Message[];
}

type Appending = Pick<Ready, "entries" | "hardState" | "mustSync" | "messagesAfterAppend"> & {
  readonly ack: AppendAck | undefined;
};

interface Install {
  readonly kind: "install";
  readonly snapshot: SnapshotMeta;
  readonly hardState: HardState;
  readonly ack: AppendAck;
  readonly after: readonly Message[];
}

interface PendingProposal {
  readonly term: number;
  readonly done: (outcome: WriteOutcome) => void;
}

interface PendingRead {
  readonly done: (outcome: ReadOutcome) => void;
  readonly expiresAtTick: number;
}

/** Number of election timeouts after which a read without an answer is given up; its caller asks again. */
const READ_ELECTION_TIMEOUTS = 2;

/** Size of a read's context, in bytes: a nonce of this process, then the number of the read. */
const CONTEXT_BYTES = 10;

export function createDriver(options: DriverOptions, ports: DriverPorts): Driver {
  const core: Raft = createRaft({ ...options, log: liftCommit(options.log, options.applied) });
  const queue: (Append | Install)[] = [];
  const committed: Entry[] = [];
  const pendingProposals = new Map<number, PendingProposal>();
  /** Applied changes whose joint configuration has not been left yet. */
  const leaving: { readonly index: number; readonly done: (outcome: WriteOutcome) => void }[] = [];
  const pendingReads = new Map<number, PendingRead>();
  const confirmedReads: { readonly index: number; readonly done: (outcome: ReadOutcome) => void }[] = [];
  let isBusy = false;
  let isPumping = false;
  let batchDepth = 0;
  let isStopped = false;
  let applied = options.applied;
  let lastRead = 0;
  // An answer may arrive after a restart of the process and must not be taken for the answer to a later read.
  const nonce = Math.floor(options.random() * 2 ** 32);
  let tickCount = 0;
  let lastStatus = { term: -1, role: "", lead: undefined as string | number | undefined };

  const pump = (): void => {
    if (isPumping || batchDepth > 0 || isStopped) return;
    isPumping = true;
    try {
      do {
        while (core.hasReady()) handleReady(core.ready());
        startNext();
        applyCommitted();
        startNext();
      } while (core.hasReady() && !isStopped);
    } finally {
      isPumping = false;
    }
    reportStatus();
  };

  const handleReady = (ready: Ready): void => {
    if (ready.softState !== undefined) handleRoleChange();
    for (const message of ready.messages) send(message);
    if (ready.snapshot !== undefined) {
      const hardState = ready.hardState ?? hardStateNow();
      queue.push({
        kind: "install",
        snapshot: ready.snapshot,
        hardState,
        ack: ready.ack,
        after: ready.messagesAfterAppend,
      });
    } else if (ready.entries.length > 0 || ready.hardState !== undefined || ready.messagesAfterAppend.length > 0) {
      addToAppend(ready);
    }
    for (const entry of ready.committedEntries) committed.push(entry);
    for (const state of ready.readStates) handleReadState(state);
  };

  const addToAppend = (ready: Appending): void => {
    // While `isBusy`, the first item of the queue is being written and must not change.
    const last = isBusy && queue.length === 1 ? undefined : queue.at(-1);
    const bytes = ready.entries.reduce((sum, { data }) => sum + data.length, 0);
    const canJoin =
      last?.kind === "append" &&
      last.entries.length + ready.entries.length <= options.maxBatchEntries &&
      last.bytes + bytes <= options.maxBatchBytes;
    const append: Append = canJoin
      ? last
      : { kind: "append", entries: [], bytes: 0, hardState: undefined, isSynced: false, acks: [], after: [] };
    if (!canJoin) queue.push(append);
    const first = ready.entries[0];
    if (first !== undefined) {
      // An entry replaces everything at its index and above, including collected entries that are not written yet.
      while ((append.entries.at(-1)?.index ?? 0) >= first.index) append.bytes -= append.entries.pop()?.data.length ?? 0;
      append.entries.push(...ready.entries);
      append.bytes += bytes;
    }
    append.hardState = ready.hardState ?? append.hardState;
    append.isSynced ||= ready.mustSync;
    if (ready.ack !== undefined) append.acks.push(ready.ack);
    append.after.push(...ready.messagesAfterAppend);
  };

  /**
   * Makes the commit index durable. This node may be the only one that knows that a membership change was applied, and must still
   * know it after a power failure of all nodes.
   */
  const pinCommit = (): void => {
    addToAppend({ entries: [], hardState: hardStateNow(), mustSync: true, messagesAfterAppend: [], ack: undefined });
  };

  /** Returns whether an append needs its own write. A changed commit index alone waits, since it can be learned again. */
  const isWorthAWrite = (append: Append): boolean =>
    append.isSynced || append.entries.length > 0 || append.after.length > 0;

  const startNext = (isTick = false): void => {
    const job = queue[0];
    if (isBusy || job === undefined) return;
    if (job.kind === "install") {
      // Earlier committed entries belong to the state that the snapshot replaces.
      if (committed.length > 0 && ports.mayApply()) applyCommitted();
      if (committed.length > 0) return;
      isBusy = true;
      const { term, vote, commit } = job.hardState;
      ports.install(job.snapshot, { term, vote: vote as string | undefined, commit }, () => onJobEnded(job));
      return;
    }
    if (queue.length === 1 && !isWorthAWrite(job) && !isTick) return;
    if (job.entries.length === 0 && job.hardState === undefined) {
      // Nothing has to be written: the messages only had to wait for earlier writes.
      isBusy = true;
      onJobEnded(job);
      return;
    }
    isBusy = true;
    ports.write({ entries: job.entries, hardState: job.hardState, sync: job.isSynced }, () => onJobEnded(job));
  };

  const onJobEnded = (job: Append | Install): void => {
    if (isStopped) return;
    queue.shift();
    isBusy = false;
    if (job.kind === "install") {
      core.advanceAppend(job.ack);
      applied = job.snapshot.index;
      core.advanceApply(applied);
      settleReadable();
    } else {
      for (const ack of job.acks) core.advanceAppend(ack);
    }
    for (const message of job.after) {
      if (message.to === options.id) core.step(message);
      else send(message);
    }
    pump();
    startNext();
  };

  const send = (message: Message): void => {
    if (message.type === "MsgSnap") ports.sendSnapshot(message);
    else ports.send(message);
  };

  const applyCommitted = (): void => {
    let count = 0;
    while (count < committed.length && ports.mayApply()) {
      if (!applyEntry(committed[count] as Entry)) break;
      count += 1;
      if (isStopped) return;
    }
    if (count === 0) return;
    committed.splice(0, count);
    core.advanceApply(applied);
    settleReadable();
  };

  /** Returns false if the entry is still being prepared. */
  const applyEntry = (entry: Entry): boolean => {
    let result: CommandResult | undefined;
    let isLeft = true;
    if (entry.kind === "conf-change") {
      applied = entry.index;
      const change: ConfChange = decodeConfChange(entry.data);
      const configuration = core.applyConfChange(change);
      isLeft = configuration.votersOutgoing.length === 0;
      ports.apply(entry, { change, configuration });
      pinCommit();
      if (isLeft) {
        for (const { index, done } of leaving.splice(0)) done({ kind: "applied", index, result: undefined });
      }
    } else {
      const outcome = ports.apply(entry, undefined);
      if (outcome === "preparing") return false;
      applied = entry.index;
      result = outcome;
    }
    const waiter = pendingProposals.get(entry.index);
    if (waiter === undefined) return true;
    pendingProposals.delete(entry.index);
    if (waiter.term !== entry.term) waiter.done({ kind: "unknown" });
    else if (isLeft) waiter.done({ kind: "applied", index: entry.index, result });
    else leaving.push({ index: entry.index, done: waiter.done });
    return true;
  };

  const handleReadState = ({ index, context }: ReadState): void => {
    const bytes = Buffer.from(context.buffer, context.byteOffset, context.byteLength);
    if (bytes.length !== CONTEXT_BYTES || bytes.readUInt32BE() !== nonce) return;
    const id = bytes.readUIntBE(4, 6);
    const reader = pendingReads.get(id);
    if (reader === undefined) return;
    pendingReads.delete(id);
    if (applied >= index) reader.done({ kind: "readable", index });
    else confirmedReads.push({ index, done: reader.done });
  };

  const settleReadable = (): void => {
    for (let at = 0; at < confirmedReads.length; ) {
      const reader = confirmedReads[at] as (typeof confirmedReads)[number];
      if (reader.index > applied) {
        at += 1;
        continue;
      }
      confirmedReads.splice(at, 1);
      reader.done({ kind: "readable", index: reader.index });
    }
  };

  /** Ends pending requests as `unknown` after a change of role or term, since their outcome can no longer be known here. */
  const handleRoleChange = (): void => {
    const { role, term } = core.status();
    if (role === "leader" && term === lastStatus.term) return;
    abandonProposals();
    for (const [id, reader] of [...pendingReads]) {
      pendingReads.delete(id);
      reader.done({ kind: "unknown" });
    }
  };

  const abandonProposals = (): void => {
    const all = [...pendingProposals.values(), ...leaving.splice(0)];
    pendingProposals.clear();
    for (const { done } of all) done({ kind: "unknown" });
  };

  const reportStatus = (): void => {
    const status = core.status();
    if (status.term === lastStatus.term && status.role === lastStatus.role && status.lead === lastStatus.lead) return;
    lastStatus = { term: status.term, role: status.role, lead: status.lead };
    ports.onStatus(status);
  };

  const hardStateNow = (): HardState => {
    const { term, vote, commit } = core.status();
    return { term, vote, commit };
  };

  const trackProposal = (outcome: ProposeOutcome, done: (outcome: WriteOutcome) => void): void => {
    if (outcome.kind === "appended") pendingProposals.set(outcome.index, { term: outcome.term, done });
    else done(refusalOf(outcome));
    pump();
  };

  return {
    receive(message) {
      if (isStopped) return;
      core.step(message);
      pump();
    },
    tick() {
      if (isStopped) return;
      tickCount += 1;
      core.tick();
      for (const [id, reader] of pendingReads) {
        if (reader.expiresAtTick > tickCount) break;
        pendingReads.delete(id);
        reader.done({ kind: "unknown" });
      }
      pump();
      startNext(true);
    },
    propose(data, done) {
      if (isStopped) done({ kind: "unknown" });
      else trackProposal(core.propose(data), done);
    },
    proposeConf(change, done) {
      if (isStopped) done({ kind: "unknown" });
      else trackProposal(core.proposeConf(change), done);
    },
    read(done) {
      if (isStopped) {
        done({ kind: "unknown" });
        return;
      }
      lastRead += 1;
      const context = Buffer.alloc(CONTEXT_BYTES);
      context.writeUInt32BE(nonce);
      context.writeUIntBE(lastRead, 4, 6);
      pendingReads.set(lastRead, { done, expiresAtTick: tickCount + READ_ELECTION_TIMEOUTS * options.electionTicks });
      core.readIndex(context);
      pump();
    },
    transferLeader(to) {
      core.transferLeader(to);
      pump();
    },
    campaign() {
      core.campaign();
      pump();
    },
    setReluctant: (isReluctant) => core.setReluctant(isReluctant),
    reportUnreachable(id) {
      if (isStopped) return;
      core.reportUnreachable(id);
      pump();
    },
    reportSnapshot(id, isInstalled) {
      if (isStopped) return;
      core.reportSnapshot(id, isInstalled);
      pump();
    },
    resume() {
      pump();
      startNext();
    },
    batch(run) {
      batchDepth += 1;
      try {
        run();
      } finally {
        batchDepth -= 1;
        pump();
      }
    },
    status: () => core.status(),
    stop() {
      if (isStopped) return;
      isStopped = true;
      abandonProposals();
      for (const { done } of [...pendingReads.values(), ...confirmedReads.splice(0)]) done({ kind: "unknown" });
      pendingReads.clear();
    },
  };
}
