/**
 * Running replica: connects consensus with its disk, network, state and time. `start-replica.ts` opens these and makes a blank
 * directory part of a cluster.
 */

import { machineMonotonic } from "../../base/index.ts";
import type { Configuration } from "../core/raft/index.ts";
import { encodeProposal, readFeatureLevel } from "../core/state/index.ts";
import { createMachine, nameOf } from "./consensus/applied-state.ts";
import { createDriver } from "./consensus/driver.ts";
import { createDriverPorts } from "./consensus/driver-ports.ts";
import type { ReadOutcome, WriteOutcome } from "./consensus/driver-types.ts";
import { createNotifier } from "./consensus/notifier.ts";
import { createOwnCommands } from "./consensus/own-commands.ts";
import { FLOW } from "./consensus/raft-limits.ts";
import { createStateWriter } from "./consensus/state-writer.ts";
import { describeCluster } from "./consensus/status.ts";
import { readBarrier, type SubmitPorts } from "./consensus/submit.ts";
import { ELECTION_TICKS, startTicker, TICK_MS } from "./consensus/ticker.ts";
import { createDiskWatch } from "./disk-watch.ts";
import { rejoinWhenAlone } from "./members/bootstrap-and-join.ts";
import { createRemoval, createRemovalCheck } from "./members/detect-removal.ts";
import { createMemberDirectory } from "./members/member-directory.ts";
import { createMembership, mostAdvanced } from "./members/membership.ts";
import { createPeers } from "./members/peers.ts";
import type { Replica, ReplicaParts } from "./replica-types.ts";
import { askMember, probeMember } from "./requests/ask-member.ts";
import { createRequests, readOutcome } from "./requests/cluster-requests.ts";
import { carriedOut, handOverLeadership } from "./requests/leader-requests.ts";
import { createLeaderTasks } from "./requests/leader-tasks.ts";
import { createSnapshotSender } from "./snapshots/send-snapshot.ts";
import { createSnapshots, doesNotLead, savedSnapshot } from "./snapshots/snapshot-schedule.ts";
import type { SnapshotRecord } from "./storage/index.ts";
import { createClockWatch, maySetTime } from "./time/clock-watch.ts";
import type { ClusterStatus } from "./types.ts";

const TICKS_A_SECOND = 1_000 / TICK_MS;

/** Messages that only a leader sends. */
const OF_LEADER: ReadonlySet<string> = new Set(["MsgApp", "MsgHeartbeat", "MsgSnap"]);

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
  let ledAtTick = 0;
  let hasFailed = false;
  let fsyncSeconds: number[] = [];

  const fault = (error: unknown): void => {
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
    onFault: fault,
  });
  const machine = createMachine({
    storage,
    state: parts.state,
    configuration: initial,
    writer,
    events: {
      onApplied: events.onApplied,
      onReplaced: events.onReplaced,
      onConfiguration: (configuration, index) => adoptMembers(configuration, index),
      onRestored: () => void snapshots.make({ isWhole: true }).catch(fault),
      onDiverged: (index) =>
        fault(
          new Error(
            `the state of this node differs from that of its leader at index ${index}: move its data directory away and join again`,
          ),
        ),
      onFault: fault,
    },
  });

  const book = createMemberDirectory({
    nodeId,
    network,
    state: () => machine.state,
    learned: parts.learned,
    self,
    configuration: machine.configuration,
    applied: parts.state.applied.index,
  });
  const { members } = book;
  const featureLevel = (): number => readFeatureLevel(machine.state.get("feat/level"));
  const peers = createPeers({
    path: storage.path,
    log,
    store: storage.log,
    book,
    status: () => driver.status(),
    monotonic,
    onEnd: fault,
  });
  const { clocks } = peers;

  const removal = createRemoval({
    nodeId,
    storage,
    canRejoin: options.rejoin !== undefined,
    configuration: machine.configuration,
    appliedIndex: parts.state.applied.index,
    log,
    onChange: () => onNews(),
    onFault: fault,
  });
  const onNews = (): void => {
    changes.wake();
    tellStatus();
  };

  const adoptMembers = (configuration: Configuration, index: number): void => {
    const gone = book.adopt(configuration, index);
    if (driver.status().role === "leader") for (const id of gone) network.sendRemoved(id, index);
    peers.keepOnly(book.ids());
    book.connect();
    removal.adopted(configuration, index);
    changes.wake();
  };

  const ports = createDriverPorts({
    ...{ storage, machine, writer, network, received, log, fault },
    hasFailed: () => hasFailed,
    stop: () => driver.stop(),
    sendSnapshot: (message) => void sendSnapshot(message),
    onSynced: (seconds) => fsyncSeconds.push(seconds),
    onStatus(status) {
      if (status.role === "leader") leadsSinceTick = ticks;
      log.info("raft", { role: status.role, term: status.term, leader: status.lead ?? "none" });
      onNews();
    },
  });
  const driver = createDriver(
    { ...FLOW, id: nodeId, log: storage.log, applied: parts.state.applied.index, random: () => Math.random() },
    ports,
  );

  const snapshots = createSnapshots({
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
    onFault: fault,
    signal: stop.signal,
  });

  const sendSnapshot = createSnapshotSender({
    storage,
    network,
    snapshots,
    knownSince: book.knownSince,
    report: (to, isInstalled) => driver.reportSnapshot(to, isInstalled),
    log,
    signal: stop.signal,
  });

  const watchDisk = createDiskWatch({
    storage,
    minFreeBytes: options.minFreeBytes,
    log,
    onLow: () => (driver.status().role === "leader" ? handOver() : Promise.resolve()),
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
    probe: (id) => probeMember(network, book.find(id)),
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
      const isMember = book.ids().includes(id) && book.isOf(id, storageId);
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
    ask: network.ask,
    nextChange: changes.next,
    now: monotonic,
  });
  const submitPorts: SubmitPorts = {
    status: () => driver.status(),
    propose,
    read: () => new Promise<ReadOutcome>((resolve) => driver.read(resolve)),
    async forward(leader, command, timeoutMs) {
      const address = book.find(leader)?.forward_addr ?? "";
      if (address === "") return { kind: "unreachable" };
      return readOutcome(await network.ask(address, { kind: "propose", header: {}, body: command }, timeoutMs));
    },
    applied: (index, ms) => machine.whenApplied(index, ms),
    nextChange: changes.next,
    after(ms, run) {
      const timer = setTimeout(run, ms);
      return () => clearTimeout(timer);
    },
    isRemoved: removal.isKnown,
    isDiskLow: watchDisk.isLow,
    now: monotonic,
  };

  // A node that is admitted again reports its start before it has applied its admission.
  const ownPorts: SubmitPorts = { ...submitPorts, isRemoved: removal.isFinal };
  const own = createOwnCommands({ self, ports: ownPorts, log, signal: stop.signal, onStarted: () => tellStatus() });

  const duties = createLeaderTasks({
    leads: () => driver.status().role === "leader",
    applied: () => machine.state.applied.index,
    digest: () => machine.state.digest,
    members,
    featureLevel,
    propose: (t, p) =>
      own.submit(t, p).then(
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
          isSettled: () => removal.isFinal() || driver.status().lead !== undefined,
          onAdmitted(admitted) {
            book.learn(admitted);
            own.reportStart().catch(fault);
          },
        });

  const checkRemoval = createRemovalCheck({
    nodeId,
    storageId: storage.log.identity.storageId,
    ask: network.ask,
    addresses: () => [...new Set([...book.forwardAddresses(), ...(options.rejoin?.addresses ?? [])])],
    isInDoubt: () => !removal.isKnown() && driver.status().role !== "leader" && ticks - ledAtTick > 2 * ELECTION_TICKS,
    onRemoved: removal.found,
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
      ...{ startedAs: own.startedAs(), isDiskLow: watchDisk.isLow() },
    });

  const tellStatus = (): void => events.onStatus(describe());

  const watchClocks = createClockWatch({
    nodeId,
    clocks,
    log,
    memberIds: book.ids,
    logNow: () => machine.state.applied.now,
    featureLevel,
    status: () => driver.status(),
    isHeard,
    setReluctant: (isReluctant) => driver.setReluctant(isReluctant),
    handOverTo: (ids) => driver.transferLeader(mostAdvanced(driver.status(), ids)),
  });

  const onSecond = (): void => {
    peers.look();
    watchClocks();
    tellStatus();
    if (fsyncSeconds.length > 0) events.onTiming(fsyncSeconds);
    fsyncSeconds = [];
    snapshots.consider();
    watchDisk.look().catch(fault);
  };

  const onTick = (): void => {
    ticks += 1;
    if (!removal.isFinal()) {
      driver.tick();
      membership.tick();
      duties();
      rejoin();
      checkRemoval();
    }
    if (ticks % TICKS_A_SECOND === 0) onSecond();
  };

  const handOver = (): Promise<void> => handOverLeadership(driver.status(), isHeard, requests, log);

  book.connect();
  machine.announce();
  const stopTicker = startTicker(onTick, monotonic);
  tellStatus();
  own.reportStart().catch(fault);
  if (book.ids().length === 1 && book.ids()[0] === nodeId) driver.campaign();

  return {
    ...carriedOut(submitPorts, requests),
    askMember: (id, question, timeoutMs) => askMember(network, book.find(id), question, timeoutMs),
    async saveSnapshot(isStaleAllowed) {
      const { role, lead } = driver.status();
      if (role !== "leader" && !isStaleAllowed) throw doesNotLead(lead);
      const record = await snapshots.make();
      return savedSnapshot(record, storage.snapshotPath(record), {
        members: members(),
        featureLevel: featureLevel(),
        clusterId: parts.clusterId,
        version: options.version,
        node: nodeId,
        leads: role === "leader",
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
      if (removal.isFinal() || !book.isFrom(message)) return;
      heardAtTick.set(String(message.from), ticks);
      if (OF_LEADER.has(message.type)) ledAtTick = ticks;
      driver.receive(message);
    },
    onSnapshot(message, record) {
      heardAtTick.set(String(message.from), ticks);
      received.set(nameOf(record), record);
      ledAtTick = ticks;
      if (!removal.isFinal()) driver.receive(message);
    },
    onRemoved(index) {
      const isMember = book.ids().includes(nodeId);
      if (removal.isFinal() || (isMember && machine.state.applied.index >= index)) return;
      removal.reported(index);
    },
    reportUnreachable: (id) => driver.reportUnreachable(id),
  };
}
