/**
 * Running replica: connects consensus with its disk, network, state and time. `start-replica.ts` opens these and makes a blank
 * directory part of a cluster.
 */

import { machineMonotonic } from "../../base/index.ts";
import type { Configuration } from "../core/raft/index.ts";
import { encodeProposal, readFeatureLevel } from "../core/state/index.ts";
import { createAppliedState, divergedError, snapshotKeyOf } from "./consensus/applied-state.ts";
import { describeCluster } from "./consensus/cluster-status.ts";
import { createDriver } from "./consensus/driver.ts";
import { createDriverPorts } from "./consensus/driver-ports.ts";
import type { ReadOutcome, WriteOutcome } from "./consensus/driver-types.ts";
import { createNotifier } from "./consensus/notifier.ts";
import { createOwnCommands } from "./consensus/own-commands.ts";
import { RAFT_LIMITS } from "./consensus/raft-limits.ts";
import { createStateWriter } from "./consensus/state-writer.ts";
import { readBarrier, type SubmitPorts } from "./consensus/submit.ts";
import { ELECTION_TICKS, startTicker, TICK_MS } from "./consensus/ticker.ts";
import { createDiskWatch } from "./disk-watch.ts";
import { createRejoinCheck } from "./members/bootstrap-and-join.ts";
import { createRemovalCheck, createRemovalDetector } from "./members/detect-removal.ts";
import { createMemberDirectory } from "./members/member-directory.ts";
import { createMembership, mostAdvanced } from "./members/membership.ts";
import { createPeers } from "./members/peers.ts";
import type { Replica, ReplicaParts } from "./replica-types.ts";
import { askMember, probeMember } from "./requests/ask-member.ts";
import { createRequests, readOutcome } from "./requests/cluster-requests.ts";
import { createLeaderRequests, handOverLeadership } from "./requests/leader-requests.ts";
import { createLeaderTasks } from "./requests/leader-tasks.ts";
import { createSnapshotSender } from "./snapshots/send-snapshot.ts";
import { createSnapshotSchedule, notLeaderError, savedSnapshot } from "./snapshots/snapshot-schedule.ts";
import type { SnapshotRecord } from "./storage/index.ts";
import { createClockWatch, maySetTime } from "./time/clock-watch.ts";
import type { ClusterStatus } from "./types.ts";

/** Messages that only a leader sends. */
const LEADER_MESSAGES: ReadonlySet<string> = new Set(["MsgApp", "MsgHeartbeat", "MsgSnap"]);

/** Ticks of silence after which a member no longer keeps the log from being compacted. */
const SILENT_TICKS = 2 * ELECTION_TICKS;

export function runReplica(parts: ReplicaParts): Replica {
  const { options, storage, network, events, self } = parts;
  const { log } = events;
  const { nodeId } = options;
  const { configuration: initial } = storage.log.initialState();
  const changes = createNotifier();
  const stop = new AbortController();
  const received = new Map<string, SnapshotRecord>();
  const heardAtTick = new Map<string, number>();
  let ticks = 0;
  let leadsSinceTick = 0;
  let leaderHeardAtTick = 0;
  let hasFailed = false;

  const failOnce = (error: unknown): void => {
    if (hasFailed || stop.signal.aborted) return;
    hasFailed = true;
    events.onFault(error);
  };

  const monotonic = machineMonotonic;
  const isHeard = (id: string): boolean => silentTicks(id) < ELECTION_TICKS;
  const silentTicks = (id: string): number => ticks - Math.max(heardAtTick.get(id) ?? 0, leadsSinceTick);

  const writer = createStateWriter({
    store: storage.state(),
    position: { applied: parts.state.applied, digest: parts.state.digest, configuration: initial },
    onDrained: () => driver.resume(),
    onFault: failOnce,
  });
  const machine = createAppliedState({
    storage,
    state: parts.state,
    configuration: initial,
    writer,
    events: {
      onApplied: events.onApplied,
      onReplaced: events.onReplaced,
      onConfiguration: (configuration, index) => adoptMembers(configuration, index),
      onPrepared: () => driver.resume(),
      onRestored: () => void snapshots.make({ dropsWholeLog: true }).catch(failOnce),
      onDiverged: (index) => failOnce(divergedError(index)),
      onFault: failOnce,
    },
    signal: stop.signal,
  });

  const directory = createMemberDirectory({
    nodeId,
    network,
    state: () => machine.state,
    reportedMembers: parts.reportedMembers,
    self,
    configuration: machine.configuration,
    applied: parts.state.applied.index,
  });
  const { members } = directory;
  const featureLevel = (): number => readFeatureLevel(machine.state.get("feat/level"));
  const peers = createPeers({
    path: storage.path,
    log,
    store: storage.log,
    directory,
    status: () => driver.status(),
    monotonic,
    onEnd: failOnce,
  });
  const { clocks } = peers;

  const removal = createRemovalDetector({
    nodeId,
    storage,
    canRejoin: options.rejoin !== undefined,
    configuration: machine.configuration,
    appliedIndex: parts.state.applied.index,
    log,
    onChange: () => onRoleChange(),
    onFault: failOnce,
  });
  const onRoleChange = (): void => {
    changes.wake();
    reportStatus();
  };

  const adoptMembers = (configuration: Configuration, index: number): void => {
    const removed = directory.adopt(configuration, index);
    if (driver.status().role === "leader") for (const id of removed) network.sendRemoved(id, index);
    peers.keepOnly(directory.ids());
    directory.updateConnections();
    removal.onConfiguration(configuration, index);
    changes.wake();
  };

  const ports = createDriverPorts({
    ...{ storage, machine, writer, network, received, log, fault: failOnce },
    hasFailed: () => hasFailed,
    stop: () => driver.stop(),
    sendSnapshot: (message) => void sendSnapshot(message),
    onSynced: (seconds) => watchDisk.recordWrite(seconds),
    onStatus(status) {
      if (status.role === "leader") leadsSinceTick = ticks;
      log.info("raft", { role: status.role, term: status.term, leader: status.lead ?? "none" });
      onRoleChange();
    },
  });
  const driver = createDriver(
    { ...RAFT_LIMITS, id: nodeId, log: storage.log, applied: parts.state.applied.index, random: () => Math.random() },
    ports,
  );

  const snapshots = createSnapshotSchedule({
    storage,
    writer,
    lowestMatch() {
      const { progress, role } = driver.status();
      if (role !== "leader") return Number.MAX_SAFE_INTEGER;
      const reachable = [...progress].filter(([id]) => id !== nodeId && silentTicks(String(id)) < SILENT_TICKS);
      return Math.min(Number.MAX_SAFE_INTEGER, ...reachable.map(([, { match }]) => match));
    },
    isInstalling: () => [...received.values()].some(({ index }) => index > machine.state.applied.index),
    onCompacted: () => driver.resume(),
    onFault: failOnce,
    signal: stop.signal,
  });

  const sendSnapshot = createSnapshotSender({
    storage,
    network,
    snapshots,
    minSnapshotIndex: directory.minSnapshotIndex,
    report: (to, isInstalled) => driver.reportSnapshot(to, isInstalled),
    log,
    signal: stop.signal,
  });

  const watchDisk = createDiskWatch({
    storage,
    minFreeBytes: options.minFreeBytes,
    log,
    now: monotonic,
    isLeader: () => driver.status().role === "leader",
    handOver: () => handOver(),
    onDurations: events.onTiming,
  });

  const propose = (command: Uint8Array): Promise<WriteOutcome> =>
    watchDisk.isLow()
      ? Promise.resolve({ kind: "refused", code: "disk_low" })
      : new Promise((resolve) => driver.propose(encodeProposal(clocks.now(), command), resolve));

  const membership = createMembership({
    status: () => driver.status(),
    members,
    featureLevel,
    silentTicks,
    probe: (id) => probeMember(network, directory.find(id)),
    proposeConf: (change) => new Promise((resolve) => driver.proposeConf(change, resolve)),
    transferLeader: (to) => driver.transferLeader(to),
    nextChange: changes.next,
    electionTicks: ELECTION_TICKS,
    deadAfterTicks: options.deadAfterMs === undefined ? undefined : Math.ceil(options.deadAfterMs / TICK_MS),
    log,
  });
  const requests = createRequests({
    nodeId,
    async membershipOf(id, storageId, timeoutMs) {
      await readBarrier(timeoutMs, submitPorts);
      const isMember = directory.ids().includes(id) && directory.mayBelongTo(id, storageId);
      return { isMember, index: machine.state.applied.index };
    },
    recoveryEpoch: () => storage.log.identity.recoveryEpoch,
    status: () => driver.status(),
    members,
    membership,
    silentTicks,
    maySetTime: (id) => maySetTime(clocks, id),
    electionTicks: ELECTION_TICKS,
    propose,
    transferLeader: (to) => driver.transferLeader(to),
    ask: network.request,
    nextChange: changes.next,
    now: monotonic,
  });
  const submitPorts: SubmitPorts = {
    status: () => driver.status(),
    propose,
    read: () => new Promise<ReadOutcome>((resolve) => driver.read(resolve)),
    async forward(leader, command, timeoutMs) {
      const address = directory.find(leader)?.forward_addr ?? "";
      if (address === "") return { kind: "unreachable" };
      return readOutcome(await network.request(address, { kind: "propose", header: {}, body: command }, timeoutMs));
    },
    whenApplied: (index, ms) => machine.whenApplied(index, ms),
    nextChange: changes.next,
    schedule(ms, run) {
      const timer = setTimeout(run, ms);
      return () => clearTimeout(timer);
    },
    isRemoved: removal.isKnown,
    isDiskLow: watchDisk.isLow,
    now: monotonic,
  };

  // A node that is admitted again reports its start before it has applied its admission.
  const ownPorts: SubmitPorts = { ...submitPorts, isRemoved: removal.isFinal };
  const ownCommands = createOwnCommands({
    self,
    ports: ownPorts,
    log,
    signal: stop.signal,
    onStarted: () => reportStatus(),
  });

  const runLeaderTasks = createLeaderTasks({
    leads: () => driver.status().role === "leader",
    applied: () => machine.state.applied.index,
    digest: () => machine.state.digest,
    members,
    featureLevel,
    async propose(t, p) {
      await ownCommands.submit(t, p).catch(() => undefined);
    },
  });
  const checkRejoin =
    options.rejoin === undefined
      ? () => undefined
      : createRejoinCheck({
          network,
          request: self,
          log,
          signal: stop.signal,
          now: monotonic,
          addresses: options.rejoin.addresses,
          afterTicks: Math.ceil(options.rejoin.afterMs / TICK_MS),
          isSettled: () => removal.isFinal() || driver.status().lead !== undefined,
          onAdmitted(admitted) {
            directory.addReported(admitted);
            ownCommands.reportStart().catch(failOnce);
          },
        });

  const checkRemoval = createRemovalCheck({
    nodeId,
    storageId: storage.log.identity.storageId,
    ask: network.request,
    addresses: () => [...new Set([...directory.forwardAddresses(), ...(options.rejoin?.addresses ?? [])])],
    isInDoubt: () =>
      !removal.isKnown() && driver.status().role !== "leader" && ticks - leaderHeardAtTick > 2 * ELECTION_TICKS,
    onRemoved: removal.onMemberReport,
  });

  const describe = (): ClusterStatus =>
    describeCluster({
      raft: driver.status(),
      log: storage.log,
      clusterId: parts.clusterId,
      members: members(),
      isRemoved: removal.isKnown(),
      logNow: machine.state.applied.now,
      silentTicks,
      connected: network.connected(),
      peers,
      self,
      ...{ incarnation: ownCommands.incarnation(), isDiskLow: watchDisk.isLow() },
    });

  const reportStatus = (): void => events.onStatus(describe());

  const watchClocks = createClockWatch({
    nodeId,
    clocks,
    log,
    memberIds: directory.ids,
    logNow: () => machine.state.applied.now,
    featureLevel,
    status: () => driver.status(),
    isHeard,
    setReluctant: (isReluctant) => driver.setReluctant(isReluctant),
    handOverTo: (ids) => driver.transferLeader(mostAdvanced(driver.status(), ids)),
  });

  const onSecond = (): void => {
    peers.recordSafeIndexes();
    watchClocks();
    reportStatus();
    snapshots.makeIfDue();
    watchDisk.check().catch(failOnce);
  };

  const onTick = (): void => {
    ticks += 1;
    if (!removal.isFinal()) {
      driver.tick();
      membership.tick();
      runLeaderTasks();
      checkRejoin();
      checkRemoval();
    }
    if ((ticks * TICK_MS) % 1_000 === 0) onSecond();
  };

  const handOver = (): Promise<void> => handOverLeadership(driver.status(), isHeard, requests, log);

  directory.updateConnections();
  machine.announce();
  const stopTicker = startTicker(onTick, monotonic);
  reportStatus();
  ownCommands.reportStart().catch(failOnce);
  if (directory.ids().length === 1 && directory.ids()[0] === nodeId) driver.campaign();

  return {
    ...createLeaderRequests(submitPorts, requests),
    askMember: (id, question, timeoutMs) => askMember(network, directory.find(id), question, timeoutMs),
    async saveSnapshot(isStaleAllowed) {
      const { role, lead } = driver.status();
      if (role !== "leader" && !isStaleAllowed) throw notLeaderError(lead);
      const record = await snapshots.make();
      return savedSnapshot(record, storage.snapshotPath(record), {
        members: members(),
        featureLevel: featureLevel(),
        clusterId: parts.clusterId,
        version: options.version,
        node: nodeId,
        isLeader: role === "leader",
      });
    },
    flush: () => machine.flush(),
    batch: (run) => driver.batch(run),
    handOver,
    async stop() {
      stop.abort();
      stopTicker();
      driver.stop();
      await writer.flush();
    },
    requests,
    peers,
    onMessage(message) {
      if (removal.isFinal() || !directory.comesFromMember(message)) return;
      heardAtTick.set(String(message.from), ticks);
      if (LEADER_MESSAGES.has(message.type)) leaderHeardAtTick = ticks;
      driver.receive(message);
    },
    onSnapshot(message, record) {
      heardAtTick.set(String(message.from), ticks);
      received.set(snapshotKeyOf(record), record);
      leaderHeardAtTick = ticks;
      if (!removal.isFinal()) driver.receive(message);
    },
    onRemoved(index) {
      const isMember = directory.ids().includes(nodeId);
      if (removal.isFinal() || (isMember && machine.state.applied.index >= index)) return;
      removal.onLeaderReport(index);
    },
    reportUnreachable: (id) => driver.reportUnreachable(id),
  };
}
