/**
 * Plan of a run, drawn from its seed: sizes, timings, and faults with their weights. Each family of faults occurs only
 * in some runs (swarm testing), since faults can hide each other. Times are milliseconds of virtual time.
 */

import type { Random } from "./random.ts";

const FAULT_FAMILIES = [
  "partition",
  "crash",
  "pause",
  "clock",
  "disk",
  "membership",
  "transfer",
  "slow-apply",
  "campaign",
  "depose",
] as const;
export type FaultFamily = (typeof FAULT_FAMILIES)[number];

export interface Plan {
  /** Initial voters n1, n2, … */
  readonly voters: number;
  readonly machine: "small" | "production";
  /** Upper limit of the number of members. */
  readonly maxMembers: number;
  readonly net: {
    readonly loss: number;
    readonly duplication: number;
    readonly delayMs: number;
    readonly tailChance: number;
    readonly tailMs: number;
    /** Chance that a message is delivered again, much later. */
    readonly staleChance: number;
  };
  readonly disk: {
    readonly syncMs: number;
    readonly slowChance: number;
    readonly slowMs: number;
    readonly errorChance: number;
    /** Chance that a crash is a power loss rather than the end of a process. */
    readonly powerChance: number;
  };
  readonly faults: readonly { readonly family: FaultFamily; readonly weight: number }[];
  readonly faultEveryMs: number;
  readonly restartMs: number;
  readonly tickMs: number;
  readonly raft: {
    readonly electionTicks: number;
    readonly heartbeatTicks: number;
    readonly maxMessageBytes: number;
    readonly maxInflightMessages: number;
    readonly maxInflightBytes: number;
    readonly maxUncommittedBytes: number;
    readonly maxUncommittedEntries: number;
    readonly maxApplyingBytes: number;
    readonly maxBatchEntries: number;
    readonly maxBatchBytes: number;
  };
  readonly load: {
    readonly clients: number;
    readonly thinkMs: number;
    readonly keys: number;
    readonly readShare: number;
    readonly largeShare: number;
  };
  readonly snapshot: { readonly everyEntries: number; readonly trailing: number };
  /** Chance, at each change of leader, that the new leader is slow to apply and is asked for changes meanwhile. */
  readonly eagerChance: number;
  /** Faults that remain once no new ones are injected. */
  readonly remains: "nothing" | "crashed" | "isolated" | "deaf" | "mute" | "half-linked";
  /** Whether a crash may remove the end of a node's synced log. */
  readonly damage: boolean;
}

export function drawPlan(random: Random, mode: "faults" | "damage"): Plan {
  const voters = random.pick([1, 2, 3, 3, 3, 3, 3, 4, 5, 5, 5]);
  const isCalm = random.chance(0.15);
  const electionTicks = random.between(5, 10);
  const tickMs = 50;
  const chosen = FAULT_FAMILIES.filter(() => random.chance(0.55));
  return {
    voters,
    machine: random.chance(0.15) ? "production" : "small",
    maxMembers: Math.max(voters, random.between(4, 6)),
    net: {
      loss: isCalm ? 0 : random.pick([0, 0.01, 0.05, 0.15, 0.3]),
      duplication: isCalm ? 0 : random.pick([0, 0.02, 0.1]),
      delayMs: random.pick([1, 4, 15, 40]),
      tailChance: random.pick([0, 0.02, 0.1, 0.3]),
      tailMs: random.pick([100, 500]),
      staleChance: random.pick([0, 0, 0.005, 0.03, 0.1]),
    },
    disk: {
      syncMs: random.pick([0.2, 2, 10]),
      slowChance: random.pick([0, 0.01, 0.05]),
      slowMs: random.pick([100, 1_000, 10_000]),
      errorChance: random.pick([0, 0, 0, 0.002]),
      powerChance: random.pick([0.5, 1]),
    },
    faults: chosen.map((family) => ({ family, weight: random.pick([1, 1, 2, 4]) })),
    faultEveryMs: random.pick([150, 400, 1_000]),
    restartMs: random.pick([100, 800, 3_000]),
    tickMs,
    raft: {
      electionTicks,
      heartbeatTicks: 1,
      maxMessageBytes: random.pick([1, 200, 4_096, 65_536]),
      maxInflightMessages: random.pick([1, 3, 16, 256]),
      maxInflightBytes: random.pick([1_000, 1_000_000]),
      maxUncommittedBytes: random.pick([2_000, 1_000_000]),
      maxUncommittedEntries: random.pick([4, 1_000]),
      maxApplyingBytes: random.pick([300, 100_000]),
      maxBatchEntries: random.pick([1, 3, 64]),
      maxBatchBytes: random.pick([200, 100_000]),
    },
    load: {
      clients: random.between(1, 6),
      thinkMs: random.pick([2, 20, 100]),
      keys: random.between(1, 4),
      readShare: random.pick([0.1, 0.3, 0.6]),
      largeShare: random.pick([0, 0.1]),
    },
    snapshot: { everyEntries: random.pick([8, 30, 150, 10_000]), trailing: random.pick([0, 3, 40]) },
    eagerChance: random.pick([0, 0, 0.5]),
    remains: random.pick(["nothing", "nothing", "crashed", "isolated", "deaf", "mute", "half-linked"]),
    damage: mode === "damage",
  };
}
