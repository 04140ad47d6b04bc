/**
 * A running replica: consensus joined with its disk, its network, its state and time. Who opens these and makes a blank
 * directory part of a cluster is `start-replica.ts`.
 */

import { randomBytes } from "node:crypto";
import { performance } from "node:perf_hooks";
import type { Log } from "../../base/index.ts";
import type { Configuration, Message, RaftStatus } from "../core/raft/index.ts";
import {
  type CommandResult,
  encodeCommand,
  encodeProposal,
  type Member,
  type Mutation,
  readFeatureLevel,
  readMember,
  type State,
} from "../core/state/index.ts";
import { createDriver } from "./driver.ts";
import type { DriverPorts, ReadOutcome, WriteOutcome } from "./driver-types.ts";
import { createDuties } from "./duties.ts";
import { ClusterError } from "./failure.ts";
import { rejoinWhenAlone } from "./founding.ts";
import { createMachine, nameOf, type Row } from "./machine.ts";
import { createMembership, idsOf } from "./membership.ts";
import type { Network } from "./network.ts";
import { createRequests, type Requests, readOutcome } from "./requests.ts";
import { createSnapshots } from "./snapshots.ts";
import { createStateWriter } from "./state-writer.ts";
import { describeCluster } from "./status.ts";
import type { SnapshotRecord, Storage } from "./storage/index.ts";
import { readBarrier, type SubmitPorts, submit } from "./submit.ts";
import { ELECTION_TICKS, HEARTBEAT_TICKS, startTicker, TICK_MS } from "./ticker.ts";
import type { ClusterOptions, ClusterStatus } from "./types.ts";
import { createWake } from "./wake.ts";
import type { SavedSnapshot } from "./worker-protocol.ts";

export interface ReplicaEvents {
  onApplied(mutations: readonly Mutation[], index: number): void;
  onReplaced(slices: Iterable<readonly Row[]>, index: number): void;
  onStatus(status: ClusterStatus): void;
  onTiming(fsyncSeconds: readonly number[], queueSeconds: readonly number[]): void;
  /** The replica cannot go on. */
  onFault(error: unknown): void;
  readonly log: Log;
}

export interface ReplicaParts {
  readonly options: ClusterOptions;
  readonly clusterId: string | undefined;
  readonly storage: Storage;
  readonly network: Network;
  readonly state: State;
  /** This node as it tells its peers. */
  readonly self: Member;
  /** Known of members beyond the rows, by id: from an admission, or from their own words. Changed here. */
  readonly learned: Map<string, Member>;
  readonly events: ReplicaEvents;
}

export interface Replica {
  write(command: Uint8Array, timeoutMs: number): Promise<CommandResult>;
  readBarrier(timeoutMs: number): Promise<void>;
  prune(keep: readonly string[], timeoutMs: number): Promise<void>;
  remove(id: string, timeoutMs: number): Promise<void>;
  transfer(to: string | undefined, timeoutMs: number): Promise<string>;
  saveSnapshot(isStaleAllowed: boolean): Promise<SavedSnapshot>;
  /** Everything applied so far has been told. */
  flush(): void;
  handOver(): Promise<void>;
  /** The storage and the network are the opener's to close. */
  stop(): Promise<void>;

  /** For the network. */
  readonly requests: Requests;
  judge(peer: { readonly nodeId: string; readonly storageId: string }): string | undefined;
  onPeer(peer: Pick<Member, "id" | "raft_addr">): void;
  onMessage(message: Message): void;
  onSnapshot(message: Message, record: SnapshotRecord): void;
  onRemoved(index: number): void;
  reportUnreachable(id: string): void;
}

/** Of consensus; reasons in the cluster reference, section 2.5. */
const FLOW = {
  electionTicks: ELECTION_TICKS,
  heartbeatTicks: HEARTBEAT_TICKS,
  maxMessageBytes: 512 * 1024,
  maxInflightMessages: 256,
  maxInflightBytes: 4 * 1024 * 1024,
  maxUncommittedBytes: 64 * 1024 * 1024,
  maxUncommittedEntries: 16_384,
  maxApplyingBytes: 16 * 1024 * 1024,
  maxBatchEntries: 1_024,
  maxBatchBytes: 2 * 1024 * 1024,
} as const;

const TICKS_A_SECOND = 1_000 / TICK_MS;
const START_TIMEOUT_MS = 10_000;
const HAND_OVER_MS = 3_000;
const PROBE_MS = 2_000;

/** Whoever is not heard of for as long holds nothing of the log back. */
const SILENT_TICKS = 2 * ELECTION_TICKS;

export function runReplica(parts: ReplicaParts): Replica {
  const { options, storage, network, events, self, learned } = parts;
  const { log } = events;
  const { nodeId } = options;
  const changes = createWake();
  const stop = new AbortController();
  const received = new Map<string, SnapshotRecord>();
  const heardAtTick = new Map<string, number>();
  const ownClient = randomBytes(16).toString("hex");
  let ownSequence = 0;
  let ticks = 0;
  let leadsSinceTick = 0;
  let isRemoved = false;
  let isDiskLow = false;
  let hasFailed = false;
  let memberIds: readonly string[] = [];
  let fsyncSeconds: number[] = [];
  let queueSeconds: number[] = [];

  const fault = (error: unknown): void => {
    if (hasFailed || stop.signal.aborted) return;
    hasFailed = true;
    events.onFault(error);
  };

  const monotonic = (): number => performance.now();
  const silentTicks = (id: string): number => ticks - Math.max(heardAtTick.get(id) ?? 0, leadsSinceTick);

  // --- state ---
  const writer = createStateWriter({
    store: storage.state(),
    standing: {
      applied: parts.state.applied,
      digest: parts.state.digest,
      configuration: storage.log.initialState().configuration,
    },
    onDrained: () => driver.resume(),
    onFault: fault,
  });
  const machine = createMachine({
    storage,
    state: parts.state,
    configuration: storage.log.initialState().configuration,
    writer,
    events: {
      onApplied: events.onApplied,
      onReplaced: events.onReplaced,
      onConfiguration: (configuration, index) => adoptMembers(configuration, index),
      onRestored: () => void snapshots.make({ isWhole: true }).catch(fault),
      onDiverged: (index) =>
        fault(
          new Error(
            `the state of this node is not that of its leader at index ${index}: move its data directory away and join again`,
          ),
        ),
      onFault: fault,
    },
  });

  const members = (): readonly Member[] => {
    const rows = new Map<string, Member>(learned);
    for (const [, value] of machine.state.scan("member/")) {
      const member = readMember(value);
      // A row without addresses is of a member that has not reported itself yet.
      if (member.raft_addr !== "" || !rows.has(member.id)) rows.set(member.id, member);
    }
    return [...rows.values()];
  };

  const connectPeers = (): void => {
    const known = members();
    const wanted = memberIds.length === 0 ? known : known.filter(({ id }) => memberIds.includes(id));
    network.setPeers(
      new Map(
        wanted.filter(({ id, raft_addr }) => id !== nodeId && raft_addr !== "").map((it) => [it.id, it.raft_addr]),
      ),
    );
  };

  const adoptMembers = (configuration: Configuration, index: number): void => {
    const now = idsOf(configuration);
    if (driver.status().role === "leader") {
      for (const id of memberIds) if (!now.includes(id)) network.sendRemoved(id, index);
    }
    for (const id of memberIds) if (!now.includes(id)) learned.delete(id);
    memberIds = now;
    connectPeers();
    changes.wake();
  };

  // --- consensus ---
  const ports: DriverPorts = {
    write(write, done) {
      const begun = monotonic();
      storage.log.append(write).then(() => {
        if (write.sync) fsyncSeconds.push((monotonic() - begun) / 1_000);
        done();
      }, fault);
    },
    install(snapshot, hardState, done) {
      const record = received.get(nameOf(snapshot));
      if (record === undefined) {
        fault(new Error(`the file of snapshot ${nameOf(snapshot)} has gone`));
        return;
      }
      received.clear();
      machine.install(record, storage.snapshotPath(snapshot), hardState).then(() => {
        log.info("a snapshot was installed", { index: record.index, rows: record.rows, bytes: record.size });
        done();
      }, fault);
    },
    send: (message) => network.send(message),
    sendSnapshot: (message) => void sendSnapshot(message),
    apply(entry, change) {
      try {
        return machine.apply(entry, change);
      } catch (error) {
        fault(error);
        driver.stop();
        return undefined;
      }
    },
    mayApply: () => writer.mayApply() && !hasFailed,
    onStatus(status) {
      if (status.role === "leader") leadsSinceTick = ticks;
      log.info("raft", { role: status.role, term: status.term, leader: status.lead ?? "none" });
      changes.wake();
      tellStatus();
    },
  };
  const driver = createDriver(
    { ...FLOW, id: nodeId, log: storage.log, applied: parts.state.applied.index, random: () => Math.random() },
    ports,
  );

  const sendSnapshot = async (message: Message): Promise<void> => {
    const to = String(message.to);
    const record = storage.log.snapshotRecord;
    const isCurrent = record !== undefined && record.size > 0 && record.index === message.snapshot?.index;
    try {
      if (isCurrent) {
        await network.sendSnapshot(message, record, storage.snapshotPath(record), stop.signal);
        log.info("a snapshot was sent", { to, index: record.index, bytes: record.size });
      } else if (record === undefined || record.size === 0) {
        // The first configuration has no file. The next message names the one that is made now.
        await snapshots.make();
      }
    } catch (error) {
      if (!stop.signal.aborted) log.warn("a snapshot was not sent", { to, error });
      driver.reportSnapshot(to, false);
      return;
    }
    driver.reportSnapshot(to, isCurrent);
  };

  const snapshots = createSnapshots({
    storage,
    writer,
    lowestMatch() {
      const { progress, role } = driver.status();
      if (role !== "leader") return Number.MAX_SAFE_INTEGER;
      const heard = [...progress].filter(([id]) => id !== nodeId && silentTicks(String(id)) < SILENT_TICKS);
      return Math.min(Number.MAX_SAFE_INTEGER, ...heard.map(([, { match }]) => match));
    },
    onCompacted: () => driver.resume(),
    onFault: fault,
    signal: stop.signal,
  });

  const propose = (command: Uint8Array): Promise<WriteOutcome> =>
    isDiskLow
      ? Promise.resolve({ kind: "refused", code: "disk_low" })
      : new Promise((resolve) => driver.propose(encodeProposal(Date.now(), command), resolve));

  // --- requests ---
  const membership = createMembership({
    status: () => driver.status(),
    members,
    featureLevel: () => readFeatureLevel(machine.state.get("feat/level")),
    silentTicks,
    async probe(id) {
      const address = members().find((member) => member.id === id)?.forward_addr ?? "";
      if (address === "") return false;
      const reply = await network.ask(address, { kind: "status", header: {}, body: EMPTY }, PROBE_MS);
      return reply.kind === "reply" && reply.header["node"] === id;
    },
    proposeConf: (change) => new Promise((resolve) => driver.proposeConf(change, resolve)),
    transferLeader: (to) => driver.transferLeader(to),
    nextChange: changes.next,
    electionTicks: ELECTION_TICKS,
    deadAfterTicks: options.deadAfterMs === undefined ? undefined : Math.ceil(options.deadAfterMs / TICK_MS),
    log,
  });
  const requests = createRequests({
    nodeId,
    recoveryEpoch: () => storage.log.identity.recoveryEpoch,
    status: () => driver.status(),
    members,
    membership,
    silentTicks,
    electionTicks: ELECTION_TICKS,
    propose,
    transferLeader: (to) => driver.transferLeader(to),
    ask: network.ask,
    nextChange: changes.next,
    now: monotonic,
  });
  const submitPorts: SubmitPorts = {
    status: () => driver.status(),
    propose,
    read: () => new Promise<ReadOutcome>((resolve) => driver.read(resolve)),
    async forward(leader, command, timeoutMs) {
      const address = members().find(({ id }) => id === leader)?.forward_addr ?? "";
      if (address === "") return { kind: "unreachable" };
      return readOutcome(await network.ask(address, { kind: "propose", header: {}, body: command }, timeoutMs));
    },
    applied: (index, ms) => machine.whenApplied(index, ms),
    nextChange: changes.next,
    isRemoved: () => isRemoved,
    isDiskLow: () => isDiskLow,
    now: monotonic,
  };

  const submitOwn = async (t: string, p: unknown, timeoutMs: number): Promise<CommandResult | undefined> => {
    ownSequence += 1;
    const by = { iss: "gateway", sub: nodeId };
    const id = `${ownClient.slice(0, 8)}-${ownSequence}`;
    const command = encodeCommand({ v: 1, t, id, c: ownClient, s: ownSequence, by, p });
    return (await submit(command, timeoutMs, submitPorts)).result;
  };

  /** Tells the cluster that this process has started, and where it is reached; until it is heard. */
  const reportStart = async (): Promise<void> => {
    const { id, storage: storageId, raft_addr, forward_addr, version, proto, feature } = self;
    const p = { id, storage: storageId, raft_addr, forward_addr, version, proto, feature };
    while (!stop.signal.aborted && !isRemoved) {
      try {
        const result = await submitOwn("node.start", p, START_TIMEOUT_MS);
        if (result?.kind === "refused") log.warn("the cluster does not take this node", { why: result.message });
        return;
      } catch (error) {
        if (!(error instanceof ClusterError)) throw error;
        log.debug("the start of this node is not recorded yet", { why: error.message });
      }
    }
  };

  // --- time ---
  const duties = createDuties({
    leads: () => driver.status().role === "leader",
    applied: () => machine.state.applied.index,
    digest: () => machine.state.digest,
    members,
    featureLevel: () => readFeatureLevel(machine.state.get("feat/level")),
    propose: (t, p) =>
      submitOwn(t, p, START_TIMEOUT_MS).then(
        () => undefined,
        () => undefined,
      ),
  });
  const rejoin =
    options.rejoin === undefined
      ? () => undefined
      : rejoinWhenAlone({
          network,
          request: self,
          log,
          signal: stop.signal,
          now: monotonic,
          addresses: options.rejoin.addresses,
          afterTicks: Math.ceil(options.rejoin.afterMs / TICK_MS),
          isSettled: () => isRemoved || driver.status().lead !== undefined,
          onAdmitted(admitted) {
            for (const member of admitted) learned.set(member.id, member);
            connectPeers();
            void reportStart().catch(fault);
          },
        });

  const watchDisk = async (): Promise<void> => {
    const free = await storage.freeBytes();
    const wasLow = isDiskLow;
    isDiskLow = free < options.minFreeBytes;
    if (isDiskLow === wasLow) return;
    const facts = { free_bytes: free, needed_bytes: options.minFreeBytes, directory: storage.path };
    if (!isDiskLow) {
      log.info("the disk has room again: writes are taken", facts);
      return;
    }
    log.error("the disk is nearly full: no writes are taken until there is room", facts);
    if (driver.status().role === "leader") await handOver();
  };

  const describe = (): ClusterStatus =>
    describeCluster({
      raft: driver.status(),
      log: storage.log,
      clusterId: parts.clusterId,
      members: members(),
      isRemoved,
      silentTicks,
      self,
    });

  const tellStatus = (): void => events.onStatus(describe());

  const onSecond = (): void => {
    tellStatus();
    if (fsyncSeconds.length > 0) events.onTiming(fsyncSeconds, queueSeconds);
    fsyncSeconds = [];
    queueSeconds = [];
    snapshots.consider();
    watchDisk().catch(fault);
  };

  const onTick = (): void => {
    ticks += 1;
    if (!isRemoved) {
      driver.tick();
      membership.tick();
      duties();
      rejoin();
    }
    if (ticks % TICKS_A_SECOND === 0) onSecond();
  };

  const handOver = async (): Promise<void> => {
    const { role, configuration }: RaftStatus = driver.status();
    const others = configuration.voters.filter((id) => id !== nodeId && silentTicks(String(id)) < ELECTION_TICKS);
    if (role !== "leader" || others.length === 0) return;
    try {
      await requests.askLeader("transfer", {}, HAND_OVER_MS);
    } catch (error) {
      log.warn("leadership was not handed over", { error });
    }
  };

  memberIds = idsOf(machine.configuration);
  connectPeers();
  machine.announce();
  const stopTicker = startTicker(onTick, monotonic);
  tellStatus();
  void reportStart().catch(fault);
  if (memberIds.length === 1 && memberIds[0] === nodeId) driver.campaign();

  return {
    async write(command, timeoutMs) {
      const { result } = await submit(command, timeoutMs, submitPorts);
      if (result === undefined) throw new ClusterError("invalid", "the write was no command");
      return result;
    },
    async readBarrier(timeoutMs) {
      await readBarrier(timeoutMs, submitPorts);
    },
    async prune(keep, timeoutMs) {
      await requests.askLeader("prune", { keep }, timeoutMs);
    },
    async remove(id, timeoutMs) {
      await requests.askLeader("remove", { id }, timeoutMs);
    },
    async transfer(to, timeoutMs) {
      return String((await requests.askLeader("transfer", to === undefined ? {} : { to }, timeoutMs))["leader"]);
    },
    async saveSnapshot(isStaleAllowed) {
      const { role, lead } = driver.status();
      if (role !== "leader" && !isStaleAllowed) {
        throw new ClusterError(
          "conflict",
          `this node does not lead: ask ${lead === undefined ? "the leader" : String(lead)}, or take a snapshot of this node that may trail (stale)`,
        );
      }
      const record = await snapshots.make();
      return {
        info: { index: record.index, term: record.term, size: record.size },
        path: storage.snapshotPath(record),
        sha256: record.sha256,
        meta: {
          format: 1,
          id: `${record.term}-${record.index}-${record.now}`,
          index: record.index,
          term: record.term,
          configuration: {
            voters: members().filter(({ id }) => record.configuration.voters.includes(id)),
            learners: members().filter(({ id }) => record.configuration.learners.includes(id)),
          },
          feature_level: readFeatureLevel(machine.state.get("feat/level")),
          cluster_id: parts.clusterId ?? null,
          gateway_version: options.version,
          node: nodeId,
          leader: role === "leader",
          size: record.size,
          digest: record.digest,
          rows: record.rows,
        },
      };
    },
    flush: () => machine.flush(),
    handOver,
    async stop() {
      stop.abort();
      stopTicker();
      driver.stop();
      await writer.flush();
    },
    requests,
    judge({ nodeId: id, storageId }) {
      // A node that hears of no leader may itself be the one that was left behind, and must listen to who is new.
      const { lead } = driver.status();
      if (lead !== undefined && memberIds.length > 0 && !memberIds.includes(id)) return "not_a_member";
      const known = members().find((member) => member.id === id)?.storage ?? "";
      return known !== "" && known !== storageId ? "storage_changed" : undefined;
    },
    onPeer({ id, raft_addr }) {
      const known = members().find((member) => member.id === id);
      if (known?.raft_addr === raft_addr || raft_addr === "") return;
      if (known !== undefined && known.raft_addr !== "" && memberIds.includes(id)) return;
      learned.set(id, { ...self, id, raft_addr, forward_addr: "", storage: "", incarnation: 0 });
      connectPeers();
    },
    onMessage(message) {
      heardAtTick.set(String(message.from), ticks);
      if (!isRemoved) driver.receive(message);
    },
    onSnapshot(message, record) {
      heardAtTick.set(String(message.from), ticks);
      received.set(nameOf(record), record);
      if (!isRemoved) driver.receive(message);
    },
    onRemoved(index) {
      const isMember = memberIds.includes(nodeId);
      if (isRemoved || (isMember && machine.state.applied.index >= index)) return;
      isRemoved = true;
      log.error(
        "this node was removed from its cluster; it serves on as it is and takes no writes until it is restarted",
      );
      changes.wake();
      tellStatus();
    },
    reportUnreachable: (id) => driver.reportUnreachable(id),
  };
}

const EMPTY = new Uint8Array(0);
