/**
 * The calm after the storm: faults stop for a connected majority, while some of the others may stay broken forever. The
 * cluster must elect a leader, answer, catch up and agree. Source: cluster reference, 10.2, liveness mode.
 */

import type { NodeId } from "../../src/server/core/raft/index.ts";
import type { Admin } from "./admin.ts";
import type { Clients } from "./clients.ts";
import { restartNode, stopNode } from "./node.ts";
import { configurationText, hasQuorum, membersOf } from "./quorum.ts";
import { must } from "./violation.ts";
import { leaderOf, type SimNode, type World } from "./world.ts";

interface Simulated {
  readonly admin: Admin;
  readonly clients: Clients;
  step(): boolean;
}

/** In election timeouts of the slowest clock. */
const LEADER_WITHIN = 20;
const REST_WITHIN = 120;
const SETTLES_WITHIN = 3;
const STABLE_FOR = 12;
const CALM_OPERATIONS = 10;
const SLOWEST_CLOCK = 0.5;

export function comeToRest(world: World, { admin, clients, step }: Simulated): { readonly isStranded: boolean } {
  const { plan, net, trace, nodes } = world;
  const timeoutMs = (plan.raft.electionTicks * plan.tickMs) / SLOWEST_CLOCK;
  let broken: ReadonlySet<string> = new Set();
  const isRefused = (id: NodeId): boolean => nodes.get(String(id))?.state === "refused";

  /** Runs until `holds` returns true; fails after that many election timeouts. */
  const until = (timeouts: number, what: string, holds: () => boolean): void => {
    const limit = world.now + timeouts * timeoutMs;
    while (!holds()) {
      const isInTime = world.now < limit && step();
      must(isInTime, "liveness", () => `${what} after ${timeouts} election timeouts: ${state(world)}`);
    }
  };
  const wait = (timeouts: number, check?: () => void): void => {
    const limit = world.now + timeouts * timeoutMs;
    while (world.now < limit && step()) check?.();
  };
  const isWell = (id: string): boolean => !broken.has(id);
  const wellLeader = (): SimNode | undefined => {
    const leader = leaderOf(world);
    return leader !== undefined && isWell(leader.id) ? leader : undefined;
  };

  /** Every request has ended, and all healthy members have applied all entries. */
  const isAtRest = (): boolean => {
    const leader = wellLeader();
    if (leader === undefined || clients.open > 0 || leader.configuration.votersOutgoing.length > 0) return false;
    const end = leader.machine.appliedIndex;
    if (world.ledger.lastCommitted !== end || leader.driver?.status().lastIndex !== end) return false;
    return membersOf(leader.configuration).every((id) => {
      const node = nodes.get(String(id));
      if (node === undefined || !isWell(node.id)) return node !== undefined;
      return node.state === "running" && node.machine.appliedIndex === end;
    });
  };
  const rest = (): void => {
    until(LEADER_WITHIN, "no leader", () => wellLeader() !== undefined);
    let askedAt = world.now;
    until(REST_WITHIN, "not at rest", () => {
      if (world.now - askedAt > timeoutMs) {
        askedAt = world.now;
        admin.settle();
      }
      return isAtRest();
    });
  };

  world.isStormy = false;
  net.heal();
  net.calm();
  trace.note(world.now, "all", "the storm is over");
  if (isChangeForgotten(world)) return { isStranded: true };
  mend(world);
  wait(1);
  broken = new Set([...nodes.keys()].filter(isRefused));
  if (broken.size > 0 && isQuorumRefused(world)) return { isStranded: true };
  rest();
  // An earlier leadership transfer or campaign may still be running.
  wait(SETTLES_WITHIN);
  rest();

  handOver(world, { leader: wellLeader()!, broken, until });
  rest();
  if (plan.remains === "nothing") disturb(world, { leader: wellLeader()!, broken, wait });
  rest();

  broken = breakSome(world, broken);
  wait(SETTLES_WITHIN);
  clients.ask(CALM_OPERATIONS);
  rest();

  const leader = wellLeader()!;
  const { term } = leader.seen;
  if (plan.remains === "half-linked") halfLink(world, leader, broken);
  wait(STABLE_FOR, () => {
    const isLeading = leader.state === "running" && leader.seen.role === "leader" && leader.seen.term === term;
    must(isLeading, "stable leader", () => `${leader.id} loses term ${term} without a fault: ${state(world)}`);
  });
  for (const id of membersOf(leader.configuration).map(String)) {
    const node = nodes.get(id);
    if (node === undefined || node.machine.appliedIndex !== leader.machine.appliedIndex) continue;
    const isEqual = node.machine.digest === leader.machine.digest;
    must(isEqual, "equal states", () => `${node.id} and ${leader.id} end with different states`);
  }
  return { isStranded: false };
}

/** A leader that is asked to hand over to a healthy voter does so in the next term, without another campaign. */
function handOver(
  world: World,
  simulated: {
    readonly leader: SimNode;
    readonly broken: ReadonlySet<string>;
    until(timeouts: number, what: string, holds: () => boolean): void;
  },
): void {
  const { leader, broken } = simulated;
  const others = leader.configuration.voters.map(String).filter((id) => id !== leader.id && !broken.has(id));
  if (others.length === 0 || !leader.configuration.voters.includes(leader.id)) return;
  const to = world.random.pick(others);
  const { term } = leader.seen;
  world.trace.note(world.now, leader.id, "is to hand over to", to);
  world.scheduleOn(leader, 0, () => leader.driver?.transferLeader(to));
  simulated.until(SETTLES_WITHIN, `no transfer to ${to}`, () => leaderOf(world)?.id === to);
  const now = leaderOf(world)!.seen.term;
  must(now === term + 1, "transfer", () => `${leader.id} led term ${term}, ${to} leads ${now}`);
}

/** A voter that is cut off for a while raises no term, and deposes nobody when it returns. */
function disturb(
  world: World,
  simulated: {
    readonly leader: SimNode;
    readonly broken: ReadonlySet<string>;
    wait(timeouts: number, check?: () => void): void;
  },
): void {
  const { leader, broken } = simulated;
  const { net, nodes, random, trace } = world;
  const others = leader.configuration.voters.map(String).filter((id) => id !== leader.id && !broken.has(id));
  if (others.length === 0) return;
  const lost = random.pick(others);
  if (!hasQuorum(leader.configuration, (id) => id !== lost && !broken.has(String(id)))) return;
  const { term } = leader.seen;
  const isUndisturbed = (): void => {
    const isLeading = leader.seen.role === "leader" && leader.seen.term === term;
    must(isLeading, "disturbance", () => `${lost} deposes ${leader.id} of term ${term}: ${state(world)}`);
    const { seen } = nodes.get(lost)!;
    must(seen.term === term, "disturbance", () => `${lost} raises its term from ${term} to ${seen.term} alone`);
  };
  trace.note(world.now, lost, "is cut off for a while");
  const members = [...nodes.keys()].filter((id) => id !== lost);
  for (const other of members) {
    net.cut(other, lost);
    net.cut(lost, other);
  }
  simulated.wait(SETTLES_WITHIN, isUndisturbed);
  for (const other of members) {
    net.mend(other, lost);
    net.mend(lost, other);
  }
  simulated.wait(SETTLES_WITHIN, isUndisturbed);
}

/**
 * The two-member caveat (cluster reference, 2.6): the node that committed the newest change crashed before a quorum of
 * the remaining members learned of the commit. They may need the vote of a member that no longer votes.
 */
function isChangeForgotten({ newestChange, checks, nodes }: World): boolean {
  if (newestChange === undefined) return false;
  const { index, by, life } = newestChange;
  if (nodes.get(by.id) === by && by.state === "running" && by.life === life) return false;
  return !hasQuorum(checks.configurationAt(index), (id) => {
    const node = nodes.get(String(id));
    if (node === undefined) return false;
    const { snapshot, durable } = node.disk;
    const known = node.state === "running" ? node.seen.commit : durable.hardState.commit;
    return Math.max(known, snapshot.meta.index) >= index;
  });
}

/** Whether too many disks are damaged for a quorum of a configuration that some node uses or may come to use. */
function isQuorumRefused({ nodes, checks }: World): boolean {
  const all = [...nodes.values()];
  const isChanging = all.some(({ disk, machine }) => {
    for (let index = machine.appliedIndex + 1; index <= disk.lastIndex; index += 1) {
      if (disk.at(index)?.entry.kind === "conf-change") return true;
    }
    return false;
  });
  if (isChanging) return true;
  const inForce = all.filter(({ state }) => state === "running").map(({ configuration }) => configuration);
  const isWhole = (id: NodeId): boolean => nodes.get(String(id))?.state !== "refused";
  return ![checks.configurationAt(Number.MAX_SAFE_INTEGER), ...inForce].every((one) => hasQuorum(one, isWhole));
}

/** Restarts every process at once and without delays. */
function mend(world: World): void {
  for (const node of world.nodes.values()) {
    node.pausedUntil = Math.min(node.pausedUntil, world.now);
    node.diskHeldUntil = 0;
    node.applyHeldUntil = 0;
    if (node.state === "running") world.scheduleOn(node, 0, () => node.driver?.resume());
    if (node.state !== "down") continue;
    world.schedule(1, () => {
      if (node.state === "down" && world.nodes.get(node.id) === node) restartNode(world, node);
    });
  }
}

/** Permanently breaks a minority of the members. */
function breakSome(world: World, already: ReadonlySet<string>): ReadonlySet<string> {
  const { plan, random, net, nodes, trace, checks } = world;
  const broken = new Set(already);
  if (plan.remains === "nothing" || plan.remains === "half-linked") return broken;
  const configuration = checks.configurationAt(Number.MAX_SAFE_INTEGER);
  const members = membersOf(configuration).map(String);
  for (const id of random.shuffled(members)) {
    if (already.has(id)) continue;
    if (hasQuorum(configuration, (one) => one !== id && !broken.has(String(one)))) broken.add(id);
  }
  for (const id of broken) {
    if (already.has(id)) continue;
    trace.note(world.now, id, "stays", plan.remains);
    if (plan.remains === "crashed") {
      const node = nodes.get(id)!;
      stopNode(world, node, "power");
      node.state = "gone";
      continue;
    }
    for (const other of members) {
      if (other === id) continue;
      if (plan.remains !== "mute") net.cut(other, id);
      if (plan.remains !== "deaf") net.cut(id, other);
    }
  }
  return broken;
}

/**
 * Cuts one voter off from the leader and some others, but not from all. Those who still hear the voter also hear the
 * leader, and must not help the voter win an election.
 */
function halfLink(world: World, leader: SimNode, broken: ReadonlySet<string>): void {
  const { random, net, trace } = world;
  const followers = leader.configuration.voters.map(String).filter((id) => id !== leader.id);
  const [lost, ...others] = random.shuffled(followers);
  if (lost === undefined || others.length === 0) return;
  if (!hasQuorum(leader.configuration, (id) => id !== lost && !broken.has(String(id)))) return;
  const unheard = [leader.id, ...others.slice(0, random.below(others.length))];
  trace.note(world.now, lost, "is cut off from", unheard.join());
  for (const other of unheard) {
    net.cut(other, lost);
    net.cut(lost, other);
  }
}

function state(world: World): string {
  const newest = configurationText(world.checks.configurationAt(Number.MAX_SAFE_INTEGER));
  const nodes = [...world.nodes.values()].map(({ id, state, seen, machine, disk }) =>
    state === "running"
      ? `${id} ${seen.role} term ${seen.term} applied ${machine.appliedIndex}/${disk.lastIndex}`
      : `${id} ${state}`,
  );
  return `${newest}; committed ${world.ledger.lastCommitted}; ${nodes.join(", ")}`;
}
