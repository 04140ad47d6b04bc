/** State shared by the parts of a simulation: virtual time, the nodes, and the scheduling of events. */

import type { Driver } from "../../src/server/cluster/consensus/driver-types.ts";
import type { ReplicaPeers } from "../../src/server/cluster/members/peers.ts";
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
  /** Nodes by id, in the order of their first appearance. */
  readonly nodes: Map<string, SimNode>;
  /** Milliseconds of virtual time. */
  readonly now: number;
  /** Faults, membership operations and new client operations happen while this is true. */
  isStormy: boolean;
  readonly machines: MachineKind;
  /** Each member's disk once `index` is applied; `undefined` where a node has not applied it yet. */
  storagesAt(index: number): ReadonlyMap<string, number> | undefined;
  /** The newest configuration change that any node applied: its index, and the first node to apply it. */
  readonly newestChange: { readonly index: number; readonly by: SimNode; readonly life: number } | undefined;
  /** Called when a node becomes leader. */
  onLeader(node: SimNode): void;
  /** Called when a node applies a configuration change. */
  onMembers(
    node: SimNode,
    index: number,
    applied: { readonly members: readonly string[]; readonly storages: ReadonlyMap<string, number> },
  ): void;
  schedule(delayMs: number, run: () => void): void;
  /**
   * Runs in the node's process: not while it is paused, and not if that process has ended before. With `anyLife` it
   * runs in the process that the node then has, if any.
   */
  scheduleOn(node: SimNode, delayMs: number, run: () => void, anyLife?: boolean): void;
}

/** Values compared after every event, which may not go back. */
interface Seen {
  term: number;
  commit: number;
  applied: number;
  role: Role;
  /** Match index of each member, on a leader. */
  readonly match: Map<NodeId, number>;
  matchTerm: number;
}

export interface SimNode {
  readonly id: string;
  /** Number of its disk, raised when it returns with a blank one. */
  storage: number;
  disk: SimDisk;
  machine: Machine;
  /** The configuration as applied by this node. */
  configuration: Configuration;
  /** Each member's disk, as applied by this node. */
  storages: ReadonlyMap<string, number>;
  /**
   * `gone`: removed, and not started again until it is added. `refused`: it does not start because its disk is damaged.
   */
  state: "running" | "down" | "gone" | "refused";
  /** Raised at each start and end of its process. */
  life: number;
  driver: Driver | undefined;
  /** Knowledge of its process about the peers. */
  peers: ReplicaPeers | undefined;
  pausedUntil: number;
  applyHeldUntil: number;
  /** No write ends before this time. */
  diskHeldUntil: number;
  /** Rate of its monotonic clock relative to virtual time. */
  readonly clockRate: number;
  wallOffsetMs: number;
  /** The first job is in flight. */
  jobs: { readonly job: DiskJob; readonly done: () => void }[];
  isRecording: boolean;
  /** Snapshot files that peers have sent, by `term/index`. */
  readonly received: Map<string, SnapshotFile>;
  seen: Seen;
  /** Some of the messages that were ever sent to this node. */
  readonly echoes: Envelope[];
}

/** A message in transit, with the disks at both ends of its connection. */
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

/** Wall clock of a node in whole milliseconds. Only command timestamps use it. */
export function wallClock(world: World, node: SimNode): number {
  return Math.max(0, Math.floor(1_700_000_000_000 + world.now * node.clockRate + node.wallOffsetMs));
}
