/**
 * A simulated node: the production driver and core on a simulated disk, network and state machine, and the life of its
 * process: start, crash, restart, return with a blank disk.
 */

import { createDriver } from "../../src/server/cluster/consensus/driver.ts";
import type { DriverPorts } from "../../src/server/cluster/consensus/driver-types.ts";
import type { Configuration, Message } from "../../src/server/core/raft/index.ts";
import { createDisk, type DiskJob, type SnapshotFile } from "./disk.ts";
import type { Link } from "./ledger.ts";
import { membersOf } from "./quorum.ts";
import { connectInTurn, connectToAll, peersOf } from "./reconnecting.ts";
import { must, Violation } from "./violation.ts";
import type { Envelope, SimNode, World } from "./world.ts";

/** A member whose disk id was never heard of has the disk from the cluster's founding. */
const FOUNDER = 0;

/** A snapshot transfer takes this many deliveries. */
const SNAPSHOT_DELIVERIES = 3;

/** Chance at a crash, in runs with damage. */
const DAMAGE_CHANCE = 0.3;

/** Creates a node with a blank or bootstrapped disk, without starting it. */
export function createNode(
  world: World,
  options: {
    readonly id: string;
    readonly storage: number;
    readonly behind: Link;
    readonly snapshot: SnapshotFile;
  },
): SimNode {
  const { id, storage, behind, snapshot } = options;
  const { random } = world;
  return {
    id,
    storage,
    disk: createDisk(world.ledger, { behind, snapshot }),
    machine: snapshot.machine.copy(),
    configuration: snapshot.meta.configuration,
    storages: snapshot.storages,
    state: "down",
    life: 0,
    driver: undefined,
    peers: undefined,
    pausedUntil: 0,
    applyHeldUntil: 0,
    diskHeldUntil: 0,
    clockRate: random.pick([0.5, 0.8, 1, 1, 1, 1.25, 2]),
    wallOffsetMs: random.between(-600_000, 600_000),
    jobs: [],
    isRecording: false,
    received: new Map(),
    seen: freshSeen(0),
    echoes: [],
  };
}

function freshSeen(term: number): SimNode["seen"] {
  return { term, commit: 0, applied: 0, role: "follower", match: new Map(), matchTerm: 0 };
}

/** Starts the node's process. Its state is as old as the disk may have kept it, but no older than the snapshot. */
function startNode(world: World, node: SimNode): void {
  const { plan, random, ledger } = world;
  const { disk } = node;
  if (!disk.isWhole()) {
    node.state = "refused";
    world.trace.note(world.now, node.id, "refuses to start: its disk is damaged");
    return;
  }
  node.life += 1;
  node.state = "running";
  node.jobs = [];
  node.isRecording = false;
  node.received.clear();
  node.pausedUntil = 0;
  node.applyHeldUntil = 0;

  const { snapshot } = disk;
  const applied = random.between(snapshot.meta.index, Math.max(snapshot.meta.index, node.machine.appliedIndex));
  node.machine = snapshot.machine.copy();
  node.storages = snapshot.storages;
  for (let index = snapshot.meta.index + 1; index <= applied; index += 1) {
    const link = disk.at(index);
    must(
      link !== undefined && link === ledger.committed(index).link,
      "durability",
      () => `${node.id} restarts without ${index}, which it applied`,
    );
    node.machine.apply(link.entry, () => membersOf(world.checks.configurationAt(index)).map(String));
    node.storages = world.storagesAt(index) ?? node.storages;
  }
  node.configuration =
    snapshot.meta.index === 0 && applied === 0 ? snapshot.meta.configuration : world.checks.configurationAt(applied);
  node.seen = { ...freshSeen(disk.hardState.term), applied };
  const { configuration } = node;
  world.trace.note(world.now, node.id, `starts, term ${disk.hardState.term} log ..${disk.lastIndex} applied`, applied);

  node.driver = createDriver(
    { id: node.id, log: disk.reader(() => configuration), applied, random: random.real, ...plan.raft },
    portsOf(world, node),
  );
  node.driver.resume();
  node.peers = peersOf(node);
  connectToAll(world, node);
  const period = plan.tickMs / node.clockRate;
  let ticks = 0;
  const tick = (): void => {
    node.driver?.tick();
    ticks += 1;
    connectInTurn(world, node, ticks);
    world.scheduleOn(node, period, tick);
  };
  world.scheduleOn(node, period * random.real(), tick);
}

/** Ends the node's process. What it had promised must be on its disk. */
export function stopNode(world: World, node: SimNode, kind: "process" | "power"): void {
  if (node.state !== "running") return;
  const { disk, driver } = node;
  const promised = disk.durable;
  disk.crash(kind, node.jobs[0]?.job, world.random);
  must(
    disk.hardState.term >= promised.hardState.term,
    "durability",
    () => `${node.id} held term ${promised.hardState.term} and comes back with ${disk.hardState.term}`,
  );
  world.trace.note(world.now, node.id, kind === "power" ? "loses power" : "is killed");
  node.state = "down";
  node.life += 1;
  node.driver = undefined;
  node.peers = undefined;
  node.jobs = [];
  node.seen.role = "follower";
  driver?.stop();
}

/** Runs code in the node's process that may reveal a bug, and checks the node afterwards. */
export function inNode(world: World, node: SimNode, run: () => void): void {
  try {
    run();
  } catch (error) {
    if (error instanceof Violation) throw error;
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
    throw new Violation("no exception", `${node.id}: ${text}`);
  }
  world.checks.after(node, world.nodes);
  recordSnapshotWhenDue(world, node);
}

function portsOf(world: World, node: SimNode): DriverPorts {
  return {
    write(write, done) {
      world.checks.onWrite(node, write);
      submit(world, node, { kind: "write", write }, done);
    },
    install(meta, hardState, done) {
      const file = node.received.get(`${meta.term}/${meta.index}`);
      must(file !== undefined, "install of what was received", () => `${node.id} installs ${meta.index}/${meta.term}`);
      must(
        meta.index > node.machine.appliedIndex,
        "snapshot newer than the state",
        () => `${node.id} installs ${meta.index} over ${node.machine.appliedIndex}`,
      );
      submit(world, node, { kind: "install", file, hardState }, () => {
        node.machine = file.machine.copy();
        node.configuration = meta.configuration;
        node.storages = file.storages;
        for (const [name, { meta: other }] of node.received) if (other.index <= meta.index) node.received.delete(name);
        done();
      });
    },
    send: (message) => send(world, node, message),
    sendSnapshot: (message) => sendSnapshot(world, node, message),
    apply(entry, changed) {
      world.checks.beforeApply(node, entry, world.nodes);
      const effect = node.machine.apply(entry, () =>
        membersOf(changed?.configuration ?? node.configuration).map(String),
      );
      if (changed !== undefined) applyChange(world, node, entry.index, changed);
      world.checks.afterApply(node, entry, effect);
      if (changed !== undefined) world.checks.onConfiguration(node, entry, changed.change, changed.configuration);
      return effect === undefined ? undefined : { kind: "ok", value: effect.output };
    },
    mayApply: () => world.now >= node.applyHeldUntil,
    onStatus({ role, term, lead }) {
      world.trace.note(world.now, node.id, `is ${role}, term ${term}, lead`, String(lead ?? "none"));
      if (role === "leader") world.onLeader(node);
    },
  };
}

/** The disk runs one job at a time. A write error ends the process, with or without the write done. */
function submit(world: World, node: SimNode, job: DiskJob, done: () => void): void {
  node.jobs.push({ job, done });
  if (node.jobs.length === 1) startJob(world, node);
}

function startJob(world: World, node: SimNode): void {
  const { plan, random } = world;
  const current = node.jobs[0];
  if (current === undefined) return;
  const { syncMs, slowChance, slowMs, errorChance } = plan.disk;
  const isSynced = current.job.kind !== "write" || current.job.write.sync;
  const isSlow = world.isStormy && random.chance(slowChance);
  const held = Math.max(0, node.diskHeldUntil - world.now);
  const delay = held + (isSlow ? random.real() * slowMs : (isSynced ? syncMs : syncMs / 20) * (0.5 + random.real()));
  const { life } = node;
  world.scheduleOn(node, delay, () => {
    if (world.isStormy && random.chance(errorChance)) {
      world.trace.note(world.now, node.id, "write error");
      failNode(world, node, "process");
      return;
    }
    world.checks.onJob(node, current.job);
    node.disk.finish(current.job);
    const { last, hardState } = node.disk.durable;
    world.trace.note(world.now, node.id, `${current.job.kind} done, term ${hardState.term}, log ends`, last.index);
    current.done();
    if (node.life !== life) return;
    node.jobs.shift();
    startJob(world, node);
  });
}

/** Crashes a node and restarts it some time later. */
export function failNode(world: World, node: SimNode, kind: "process" | "power"): void {
  const { plan, random } = world;
  stopNode(world, node, kind);
  const delay = world.isStormy ? random.real() ** 2 * plan.restartMs * 2 : 10;
  const { storage } = node;
  if (plan.damage && world.isStormy && random.chance(DAMAGE_CHANCE)) {
    node.disk.damage(random.pick(["lost-end", "flipped-bit"]), random);
  }
  world.schedule(delay, () => {
    if (node.state === "down" && node.storage === storage) restartNode(world, node);
  });
}

export function restartNode(world: World, node: SimNode): void {
  inNode(world, node, () => startNode(world, node));
}

function recordSnapshotWhenDue(world: World, node: SimNode): void {
  const { everyEntries } = world.plan.snapshot;
  const { machine, disk } = node;
  if (machine.appliedIndex - disk.snapshot.meta.index >= everyEntries) recordSnapshot(world, node);
}

function recordSnapshot(world: World, node: SimNode): void {
  const { machine, disk } = node;
  if (node.isRecording || node.state !== "running" || machine.appliedIndex <= disk.snapshot.meta.index) return;
  const { trailing } = world.plan.snapshot;
  node.isRecording = true;
  const { link } = world.ledger.committed(machine.appliedIndex);
  const file: SnapshotFile = {
    meta: { index: link.index, term: link.term, configuration: node.configuration },
    link,
    machine: machine.copy(),
    storages: node.storages,
  };
  submit(world, node, { kind: "record", file, compactTo: link.index - trailing }, () => {
    node.isRecording = false;
    node.driver?.resume();
  });
}

function send(world: World, node: SimNode, message: Message): void {
  const to = world.nodes.get(String(message.to));
  world.checks.onSend(node, message, to);
  if (to === undefined) return;
  const envelope = { message, fromStorage: node.storage, toStorage: to.storage };
  keepEcho(world, to, envelope);
  for (const delay of world.net.deliveries(node.id, to.id)) {
    world.scheduleOn(to, delay, () => receive(world, to, envelope.message, envelope), true);
  }
}

/** Number of earlier messages to a node that are kept, and that are repeated when it becomes leader. */
const KEPT_ECHOES = 200;
const ECHOES = 25;
const ECHOED_WITHIN_MS = 400;

function keepEcho(world: World, to: SimNode, envelope: Envelope): void {
  if (world.plan.net.staleChance === 0) return;
  if (to.echoes.length < KEPT_ECHOES) to.echoes.push(envelope);
  else to.echoes[world.random.below(KEPT_ECHOES)] = envelope;
}

/** The network repeats messages of earlier terms to a new leader, which must ignore them all. */
export function echo(world: World, node: SimNode): void {
  if (!world.isStormy || node.echoes.length === 0) return;
  for (let count = 0; count < ECHOES; count += 1) {
    const envelope = world.random.pick(node.echoes);
    const again = (): void => void receive(world, node, envelope.message, envelope);
    world.scheduleOn(node, world.random.real() * ECHOED_WITHIN_MS, again, true);
  }
}

/**
 * A connection ends when either end changes its disk, so messages that a node sent before it came back blank are
 * dropped. An answer of a blank node also does not count for the member that the receiver knows under that id (see the
 * reference, 2.6).
 */
function receive(
  world: World,
  node: SimNode,
  message: Message,
  { fromStorage, toStorage }: { readonly fromStorage: number; readonly toStorage: number },
): boolean {
  const from = String(message.from);
  if (node.storage !== toStorage || world.nodes.get(from)?.storage !== fromStorage) return false;
  const isAnswer = message.type.endsWith("Resp");
  if (isAnswer && (node.storages.get(from) ?? FOUNDER) !== fromStorage) return false;
  world.trace.note(world.now, node.id, "receives", message);
  const matchOf = (): number | undefined => node.driver?.status().progress.get(message.from)?.match;
  const isLate = message.type === "MsgAppResp" && message.term < node.seen.term;
  const before = isLate ? matchOf() : undefined;
  node.driver?.receive(message);
  must(!isLate || matchOf() === before, "answers of the own term", () => {
    return `${node.id} in term ${node.seen.term} counts ${message.index} of ${from}, said in term ${message.term}`;
  });
  return true;
}

function sendSnapshot(world: World, node: SimNode, message: Message): void {
  const { life, disk } = node;
  const to = world.nodes.get(String(message.to));
  const file = disk.snapshot;
  const report = (isInstalled: boolean, delay: number): void =>
    world.scheduleOn(node, delay, () => {
      if (node.life === life) node.driver?.reportSnapshot(String(message.to), isInstalled);
    });
  const { snapshot } = message;
  const [delay, ...again] = world.net.deliveries(node.id, String(message.to));
  const isCurrent = snapshot?.index === file.meta.index && snapshot.term === file.meta.term;
  // A snapshot from before the target joined with this disk has a configuration in which its id means another member.
  // The node could then elect itself with that member's vote.
  if (to !== undefined && (file.storages.get(to.id) ?? 0) !== to.storage) {
    recordSnapshot(world, node);
    report(false, world.plan.tickMs);
    return;
  }
  if (to === undefined || delay === undefined || !isCurrent) {
    report(false, world.plan.tickMs);
    return;
  }
  const envelope = { fromStorage: node.storage, toStorage: to.storage };
  const deliver = (): boolean => {
    if (to.storage === envelope.toStorage) to.received.set(`${file.meta.term}/${file.meta.index}`, file);
    return receive(world, to, message, envelope);
  };
  const run = (): void => {
    const isTaken = deliver();
    const [back] = world.net.deliveries(to.id, node.id);
    report(isTaken && back !== undefined, back ?? world.plan.tickMs);
  };
  world.scheduleOn(to, delay * SNAPSHOT_DELIVERIES, run, true);
  for (const late of again) world.scheduleOn(to, late * SNAPSHOT_DELIVERIES, () => deliver(), true);
  // A receiver that is down does not answer; the sender's own limit ends the transfer.
  report(false, delay * SNAPSHOT_DELIVERIES + 20 * world.plan.tickMs);
}

function applyChange(
  world: World,
  node: SimNode,
  index: number,
  changed: {
    readonly change: {
      readonly changes: readonly { readonly type: string; readonly nodeId: string | number }[];
      readonly context: Uint8Array;
    };
    readonly configuration: Configuration;
  },
): void {
  const { change, configuration } = changed;
  const storages = new Map(node.storages);
  change.changes.forEach(({ type, nodeId }, at) => {
    const storage = change.context[at];
    if (type !== "remove-node" && storage !== undefined) storages.set(String(nodeId), storage);
  });
  node.storages = storages;
  node.configuration = configuration;
  world.onMembers(node, index, { members: membersOf(configuration).map(String), storages });
}
