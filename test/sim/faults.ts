/** Injects faults one after another, by the weights of the plan: cluster reference, 10.1. */

import type { Admin } from "./admin.ts";
import { isVotingNow } from "./admin.ts";
import { failNode } from "./node.ts";
import type { FaultFamily } from "./plan.ts";
import { leaderOf, runningNodes, type SimNode, type World } from "./world.ts";

export function startFaults(world: World, admin: Admin): void {
  const { plan, random } = world;
  const weighted = plan.faults.flatMap(({ family, weight }) => Array<FaultFamily>(weight).fill(family));
  if (weighted.length === 0) return;
  const next = (): void =>
    world.schedule(plan.faultEveryMs * 2 * random.real(), () => {
      if (!world.isStormy) return;
      inject(world, admin, random.pick(weighted));
      next();
    });
  next();
}

function inject(world: World, admin: Admin, family: FaultFamily): void {
  const { plan, random, trace } = world;
  const running = runningNodes(world);
  if (running.length === 0) return;
  const leader = leaderOf(world);
  const node = leader !== undefined && random.chance(0.4) ? leader : random.pick(running);
  switch (family) {
    case "partition":
      partition(world, node);
      return;
    case "crash": {
      const kind = random.chance(plan.disk.powerChance) ? "power" : "process";
      const all = random.chance(0.1);
      for (const one of all ? running : [node]) failNode(world, one, kind);
      return;
    }
    case "pause":
      node.pausedUntil = world.now + random.real() * 10 * plan.raft.electionTicks * plan.tickMs;
      trace.note(world.now, node.id, "is paused until", Math.floor(node.pausedUntil));
      return;
    case "clock":
      node.wallOffsetMs = random.between(-600_000, 600_000);
      trace.note(world.now, node.id, "clock is now off by", node.wallOffsetMs);
      return;
    case "depose":
      if (leader !== undefined) depose(world, leader);
      return;
    case "disk":
      slowDisk(world, node);
      return;
    case "membership":
      admin.change();
      return;
    case "transfer": {
      const [to] = random.shuffled([...world.nodes.keys()]);
      if (leader === undefined || to === undefined) return;
      trace.note(world.now, leader.id, "hands over to", to);
      world.scheduleOn(leader, 0, () => leader.driver?.transferLeader(to));
      return;
    }
    case "slow-apply": {
      const delay = random.real() * 1_000;
      node.applyHeldUntil = world.now + delay;
      trace.note(world.now, node.id, "applies again at", Math.floor(node.applyHeldUntil));
      world.scheduleOn(node, delay, () => node.driver?.resume());
      return;
    }
    case "campaign":
      if (!isVotingNow(world, node.id)) return;
      trace.note(world.now, node.id, "is asked to campaign");
      world.scheduleOn(node, 0, () => node.driver?.campaign());
      return;
    default:
      family satisfies never;
  }
}

/** Isolates a leader until the others have elected another, then reconnects it. */
function depose(world: World, leader: SimNode): void {
  const { plan, net, random, trace } = world;
  const others = [...world.nodes.keys()].filter((id) => id !== leader.id);
  const isHeard = random.chance(0.3);
  trace.note(world.now, leader.id, isHeard ? "hears nobody" : "is cut off");
  for (const other of others) {
    net.cut(other, leader.id);
    if (!isHeard) net.cut(leader.id, other);
  }
  world.schedule((1 + random.real() * 3) * plan.raft.electionTicks * plan.tickMs, () => {
    for (const other of others) {
      net.mend(other, leader.id);
      net.mend(leader.id, other);
    }
  });
}

/** Requests changes from a new leader that has not yet applied all of its predecessor's entries. */
export function holdUp(world: World, admin: Admin, leader: SimNode): void {
  const { plan, random, trace } = world;
  if (!world.isStormy || !random.chance(plan.eagerChance)) return;
  const delay = random.real() * 3 * plan.raft.electionTicks * plan.tickMs;
  leader.applyHeldUntil = world.now + delay;
  trace.note(world.now, leader.id, "leads, and applies again at", Math.floor(leader.applyHeldUntil));
  world.scheduleOn(leader, delay, () => leader.driver?.resume());
  for (let asked = 0; asked < 4; asked += 1) {
    world.schedule(delay * random.real(), () => {
      if (world.isStormy) admin.change();
    });
  }
}

function slowDisk(world: World, node: SimNode): void {
  const { random, trace } = world;
  node.diskHeldUntil = world.now + random.real() * random.pick([50, 500, 5_000]);
  trace.note(world.now, node.id, "disk stands still until", Math.floor(node.diskHeldUntil));
}

function partition(world: World, node: SimNode): void {
  const { net, random, trace } = world;
  net.heal();
  const kind = random.pick([
    "heal",
    "split",
    "split",
    "isolate",
    "isolate",
    "deaf",
    "mute",
    "ring",
    "bridge",
    "flapping",
  ] as const);
  trace.note(world.now, "net", kind, node.id);
  const ids = random.shuffled([...world.nodes.keys()]);
  const split = (left: readonly string[], right: readonly string[]): void => {
    for (const a of left) {
      for (const b of right) {
        net.cut(a, b);
        net.cut(b, a);
      }
    }
  };
  const others = ids.filter((id) => id !== node.id);
  switch (kind) {
    case "heal":
      return;
    case "split": {
      const at = random.between(1, Math.max(1, ids.length - 1));
      split(ids.slice(0, at), ids.slice(at));
      return;
    }
    case "isolate":
      split([node.id], others);
      return;
    case "deaf":
      for (const id of others) net.cut(id, node.id);
      return;
    case "mute":
      for (const id of others) net.cut(node.id, id);
      return;
    case "ring":
      ids.forEach((a, at) => {
        ids.forEach((b, other) => {
          const apart = Math.abs(at - other);
          if (apart > 1 && apart < ids.length - 1) net.cut(a, b);
        });
      });
      return;
    case "bridge": {
      const half = Math.ceil(others.length / 2);
      split(others.slice(0, half), others.slice(half));
      return;
    }
    case "flapping": {
      let left = random.between(2, 8);
      const flap = (): void => {
        if (!world.isStormy || left === 0) return;
        left -= 1;
        if (left % 2 === 0) net.heal();
        else split([node.id], others);
        world.schedule(50 + random.real() * 400, flap);
      };
      flap();
      return;
    }
    default:
      kind satisfies never;
  }
}
