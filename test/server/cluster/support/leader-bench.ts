/**
 * A leader for membership and requests: a status written by the test, changes that are applied at once or answered by
 * script, and time that passes only while the code waits.
 */

import assert from "node:assert/strict";
import type { WriteOutcome } from "../../../../src/server/cluster/consensus/driver-types.ts";
import { TICK_MS } from "../../../../src/server/cluster/consensus/ticker.ts";
import {
  createMembership,
  type Deadline,
  type JoinRequest,
  type Membership,
  type MembershipPorts,
} from "../../../../src/server/cluster/members/membership.ts";
import {
  applyChange,
  type ConfChange,
  type Configuration,
  type ProgressStatus,
  type RaftStatus,
} from "../../../../src/server/core/raft/index.ts";
import { type Member, unknownMember } from "../../../../src/server/core/state/index.ts";
import { type LogLine, memoryLog, settled } from "./outcome.ts";

export const ELECTION_TICKS = 20;

export interface LeaderBench {
  readonly membership: Membership;
  readonly ports: MembershipPorts;
  status: RaftStatus;
  readonly members: Map<string, Member>;
  /** Ticks of silence by id; 0 by default. */
  readonly silent: Map<string, number>;
  /** Changes such as `remove-node c, add-learner d (joint-implicit)`. */
  readonly changes: string[];
  /** Members added by the context of the last change. */
  added: readonly Member[];
  readonly lines: readonly LogLine[];
  readonly transfers: string[];
  readonly probes: string[];
  readonly answersProbe: Set<string>;
  /** Outcomes used before changes are applied, one each. */
  readonly outcomes: WriteOutcome[];
  /** Called with the time at the start of every wait. */
  onWait: (timeMs: number) => void;
  now(): number;
  deadline(ms: number): Deadline;
  tick(count: number): Promise<void>;
  setProgress(id: string, match: number): void;
}

export interface LeaderOptions {
  readonly voters?: readonly string[];
  readonly learners?: readonly string[];
  readonly role?: RaftStatus["role"];
  readonly deadAfterTicks?: number;
  readonly featureLevel?: number;
}

export function leaderBench(options: LeaderOptions = {}): LeaderBench {
  const { voters = ["a", "b", "c"], learners = [], role = "leader" } = options;
  const configuration: Configuration = { voters, votersOutgoing: [], learners, learnersNext: [], autoLeave: false };
  const { log, lines } = memoryLog();
  const all = [...voters, ...learners];
  let time = 0;

  const ports: MembershipPorts = {
    status: () => bench.status,
    members: () => [...bench.members.values()],
    featureLevel: () => options.featureLevel ?? 1,
    silentTicks: (id) => bench.silent.get(id) ?? 0,
    async probe(id) {
      bench.probes.push(id);
      return bench.answersProbe.has(id);
    },
    async proposeConf(change) {
      const scripted = bench.outcomes.shift();
      if (scripted !== undefined) return scripted;
      bench.changes.push(describe(change));
      const { added } = JSON.parse(Buffer.from(change.context).toString()) as { readonly added: readonly Member[] };
      bench.added = added;
      for (const member of added) bench.members.set(member.id, member);
      bench.status = { ...bench.status, configuration: afterChange(bench.status.configuration, change) };
      const { voters: now, learners: listening } = bench.status.configuration;
      for (const id of [...bench.members.keys()]) if (![...now, ...listening].includes(id)) bench.members.delete(id);
      return { kind: "applied", index: 10, result: undefined };
    },
    transferLeader: (to) => bench.transfers.push(to),
    async nextChange(ms) {
      bench.onWait(time);
      time += ms;
      await Promise.resolve();
      for (let tick = 0; tick < ms / TICK_MS; tick += 1) bench.membership.tick();
    },
    electionTicks: ELECTION_TICKS,
    deadAfterTicks: options.deadAfterTicks,
    log,
  };

  const bench: LeaderBench = {
    membership: createMembership(ports),
    ports,
    status: {
      id: "a",
      term: 2,
      vote: "a",
      commit: 10,
      applied: 10,
      lastIndex: 10,
      role,
      lead: role === "leader" ? "a" : undefined,
      leadTransferee: undefined,
      loss: undefined,
      configuration,
      progress: new Map(all.map((id) => [id, progress(10, learners.includes(id))])),
    },
    members: new Map(all.map((id) => [id, memberOf(id)])),
    silent: new Map(),
    changes: [],
    added: [],
    lines,
    transfers: [],
    probes: [],
    answersProbe: new Set(),
    outcomes: [],
    onWait: () => undefined,
    now: () => time,
    deadline(ms) {
      const until = time + ms;
      return () => until - time;
    },
    async tick(count) {
      for (let tick = 0; tick < count; tick += 1) {
        bench.membership.tick();
        await settled();
      }
    },
    setProgress(id, match) {
      const before = bench.status.progress.get(id);
      const isLearner = before?.isLearner ?? true;
      bench.status = {
        ...bench.status,
        progress: new Map([...bench.status.progress, [id, progress(match, isLearner)]]),
      };
    },
  };
  return bench;
}

export function storageOf(id: string): string {
  return Buffer.from(id).toString("hex").padEnd(32, "0");
}

export function memberOf(id: string, more: Partial<Member> = {}): Member {
  return {
    ...unknownMember(id),
    storage: storageOf(id),
    raft_addr: `${id}:7000`,
    forward_addr: `${id}:7001`,
    version: "1.0.0",
    proto: [1, 1],
    feature: [1, 1],
    ...more,
  };
}

export function requestOf(id: string, more: Partial<JoinRequest> = {}): JoinRequest {
  const { incarnation: _, ...request } = memberOf(id);
  return { ...request, ...more };
}

function progress(match: number, isLearner: boolean): ProgressStatus {
  return {
    match,
    next: match + 1,
    state: "StateReplicate",
    recentActive: true,
    isLearner,
    pendingSnapshot: 0,
    inflightMessages: 0,
    paused: false,
  };
}

/** Like the core, including the joint configuration that is left automatically. */
function afterChange(configuration: Configuration, change: ConfChange): Configuration {
  const entered = applyChange(configuration, change);
  assert.equal(entered.kind, "changed");
  if (entered.kind !== "changed" || entered.configuration.votersOutgoing.length === 0) {
    return entered.kind === "changed" ? entered.configuration : configuration;
  }
  const left = applyChange(entered.configuration, { transition: "auto", changes: [], context: new Uint8Array(0) });
  assert.equal(left.kind, "changed");
  return left.kind === "changed" ? left.configuration : configuration;
}

function describe({ transition, changes }: ConfChange): string {
  return `${changes.map(({ type, nodeId }) => `${type} ${nodeId}`).join(", ")} (${transition})`;
}
