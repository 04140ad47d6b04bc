/** What the parts of a simulation share: virtual time, the nodes, and how to make something happen later. */

import type { Driver } from "../../src/server/cluster/consensus/driver-types.ts";
import type { OwnPeers } from "../../src/server/cluster/members/peers.ts";
import type { Configuration, Message, NodeId, Role } from "../../src/server/core/raft/index.ts";
import type { Checks } from "./checks.ts";
import type { DiskJob, SimDisk, SnapshotFile } from "./disk.ts";
import type { Ledger } from "./ledger.ts";
import type { Machine, MachineKind } from "./machine.ts";
import type { SimNet } from "./net.ts";
import type { Plan } from "./plan.ts";
import type { Random } from "./random.ts";
import type { Trace } from "./trace.ts";

export interface World {
  readonly plan: Plan;
  readonly random: Random;
  readonly trace: Trace;
  readonly net: SimNet;
  readonly ledger: Ledger;
  readonly checks: Checks;
  /** By id, in the order in which they first appeared. */
  readonly nodes: Map<string, SimNode>;
  /** Milliseconds of virtual time. */
  readonly now: number;
  /** Faults, membership operations and new client operations happen while this is true. */
  isStormy: boolean;
  readonly machines: MachineKind;
  /** Which disk each member has once `index` is applied; undefined where a node has not applied it yet. */
  storagesAt(index: number): ReadonlyMap<string, number> | undefined;
  /** The newest change of the configuration that anybody applied: at which index, and the first one to do so. */
  readonly newestChange: { readonly index: number; readonly by: SimNode; readonly life: number } | undefined;
  /** A node leads from now on. */
  onLeader(node: SimNode): void;
  /** A node applied a change of the configuration. */
  onMembers(
    node: SimNode,
    index: number,
    applied: { readonly members: readonly string[]; readonly storages: ReadonlyMap<string, number> },
  ): void;
  schedule(delayMs: number, run: () => void): void;
  /**
   * Runs in the node's process: not while it is paused, and not when that process has ended before. `anyLife`: in
   * whatever process it has then, if it has one.
   */
  scheduleOn(node: SimNode, delayMs: number, run: () => void, anyLife?: boolean): void;
}

/** Compared after every event; what may not go back. */
interface Seen {
  term: number;
  commit: number;
  applied: number;
  role: Role;
  /** Of a leader: by member. */
  readonly match: Map<NodeId, number>;
  matchTerm: number;
}

export interface SimNode {
  readonly id: string;
  /** Which disk it has: raised when it comes back blank. */
  storage: number;
  disk: SimDisk;
  machine: Machine;
  /** As applied. */
  configuration: Configuration;
  /** Which disk each member has, as applied. */
  storages: ReadonlyMap<string, number>;
  /** `gone`: removed, and not started again until it is added. `refused`: its disk is damaged, it does not start. */
  state: "running" | "down" | "gone" | "refused";
  /** Raised at each start and end of its process. */
  life: number;
  driver: Driver | undefined;
  /** Of its process. */
  peers: OwnPeers | undefined;
  pausedUntil: number;
  applyHeldUntil: number;
  /** No write ends before. */
  diskHeldUntil: number;
  /** Of its monotonic clock against virtual time. */
  readonly clockRate: number;
  wallOffsetMs: number;
  /** The first one is in flight. */
  jobs: { readonly job: DiskJob; readonly done: () => void }[];
  isRecording: boolean;
  /** Snapshot files that peers have sent, by `term/index`. */
  readonly received: Map<string, SnapshotFile>;
  seen: Seen;
  /** Some of the messages that were ever sent to it. */
  readonly echoes: Envelope[];
}

/** A message under way, with the disks that its connection was made between. */
export interface Envelope {
  readonly message: Message;
  readonly fromStorage: number;
  readonly toStorage: number;
}

/** The running node that leads the highest term, if any does. */
export function leaderOf(world: World): SimNode | undefined {
  let best: SimNode | undefined;
  for (const node of world.nodes.values()) {
    if (node.state !== "running" || node.seen.role !== "leader") continue;
    if (best === undefined || node.seen.term > best.seen.term) best = node;
  }
  return best;
}

export function runningNodes(world: World): readonly SimNode[] {
  return [...world.nodes.values()].filter(({ state }) => state === "running");
}

/** The wall clock of a node, whole milliseconds. Only stamps of commands see it. */
export function wallClock(world: World, node: SimNode): number {
  return Math.max(0, Math.floor(1_700_000_000_000 + world.now * node.clockRate + node.wallOffsetMs));
}
