/**
 * Membership on the leader: admits, promotes, removes, prunes, and reaps silent members. Source: specification document 1
 * (cluster membership), cluster reference, section 2.6.
 *
 * One change runs at a time. A change that would leave no reachable majority is refused, since nothing could undo it.
 */

import { createSemaphore } from "../../../base/index.ts";
import type { ConfChange, Configuration, RaftStatus } from "../../core/raft/index.ts";
import type { Member } from "../../core/state/index.ts";
import { ClusterError } from "../cluster-error.ts";
import type { WriteOutcome } from "../consensus/driver-types.ts";

/** Request for admission. */
export interface JoinRequest {
  readonly id: string;
  readonly storage: string;
  readonly raft_addr: string;
  readonly forward_addr: string;
  readonly version: string;
  readonly proto: readonly [min: number, max: number];
  readonly feature: readonly [min: number, max: number];
}

export interface MembershipPorts {
  status(): RaftStatus;
  members(): readonly Member[];
  featureLevel(): number;
  /** Returns the ticks since this leader last heard from the member, or since it leads. */
  silentTicks(id: string): number;
  /** Returns whether a member answers over its forward address. Never rejects. */
  probe(id: string): Promise<boolean>;
  proposeConf(change: ConfChange): Promise<WriteOutcome>;
  transferLeader(to: string): void;
  /** Resolves at the next change of role, leader or configuration, or after `ms`. */
  nextChange(ms: number): Promise<void>;
  readonly electionTicks: number;
  readonly deadAfterTicks: number | undefined;
  readonly log: {
    info(message: string, fields: Readonly<Record<string, unknown>>): void;
    warn(message: string, fields: Readonly<Record<string, unknown>>): void;
  };
}

export interface Membership {
  /** Admits a node. Resolves once it is a member: a learner, which becomes a voter when it has caught up. */
  admit(request: JoinRequest, deadline: Deadline): Promise<void>;
  /**
   * Reduces the members to exactly `keep`. Rejects with `no_leader` if leadership was handed over first; then repeat the request.
   */
  prune(keep: readonly string[], deadline: Deadline): Promise<void>;
  /** Promotes learners that caught up and removes silent members. Call it at every tick; has no effect unless this node leads. */
  tick(): void;
}

/** Returns the time left, in milliseconds. */
export type Deadline = () => number;

/** Number of rounds without catching up after which a learner is reported; it is still tried again. */
const REPORT_AFTER_ROUNDS = 10;

interface CatchUp {
  readonly target: number;
  readonly startedTick: number;
  readonly rounds: number;
}

export function createMembership(ports: MembershipPorts): Membership {
  const catchUps = new Map<string, CatchUp>();
  /** Allows one change at a time. */
  const changes = createSemaphore({ permits: 1 });
  let ticks = 0;
  let term = 0;

  const isLive = (id: string): boolean => {
    const { id: self } = ports.status();
    return id === self || ports.silentTicks(id) < 2 * ports.electionTicks;
  };

  const hasLiveMajority = (voters: readonly string[]): boolean =>
    voters.filter(isLive).length > Math.floor(voters.length / 2);

  const change = async (what: Omit<ConfChange, "context">, added: readonly Member[], deadline: Deadline) => {
    const context = new TextEncoder().encode(JSON.stringify({ added }));
    for (;;) {
      const outcome = await ports.proposeConf({ ...what, context });
      if (outcome.kind === "applied") return;
      if (outcome.kind === "unknown") {
        throw new ClusterError("no_leader", "the leader was lost while the members were changed: check the members", {
          details: { outcome: "unknown" },
        });
      }
      if (outcome.kind === "not-leader") throw lostLeadershipError();
      if (outcome.code === "invalid") throw new ClusterError("invalid", "the members cannot be changed in this way");
      if (deadline() <= 0) throw new ClusterError("busy", "another change of members is in progress: try again");
      await ports.nextChange(Math.min(100, deadline()));
    }
  };

  const admit = async (request: JoinRequest, deadline: Deadline): Promise<void> => {
    requireLeadership(ports.status());
    const known = ports.members().find(({ id }) => id === request.id);
    const isMember = idsOf(ports.status().configuration).includes(request.id);
    if (isMember && (known === undefined || known.storage === "" || known.storage === request.storage)) return;
    if (request.feature[1] < ports.featureLevel() || request.feature[0] > ports.featureLevel()) {
      throw new ClusterError(
        "refused",
        `node ${request.id} (version ${request.version}) does not speak the cluster's feature level ${ports.featureLevel()}: run a version that does`,
      );
    }
    const sameAddress = ports
      .members()
      .find(({ id, raft_addr }) => id !== request.id && raft_addr === request.raft_addr);
    if (sameAddress !== undefined) {
      throw new ClusterError("conflict", `the raft address ${request.raft_addr} is that of member ${sameAddress.id}`);
    }
    if (isMember) {
      if (isLive(request.id)) {
        throw new ClusterError(
          "conflict",
          `a member ${request.id} with another data directory is alive: give this node another cluster.node_id, or stop that one`,
        );
      }
      ports.log.warn("a member came back with another data directory; it is admitted as a new member", {
        member: request.id,
      });
      await removeAll([request.id], deadline);
    }
    const member: Member = { ...request, incarnation: 0 };
    await change({ transition: "auto", changes: [{ type: "add-learner", nodeId: request.id }] }, [member], deadline);
    ports.log.info("a node joined and is catching up", { member: request.id, address: request.raft_addr });
  };

  const removeAll = async (ids: readonly string[], deadline: Deadline): Promise<void> => {
    const { configuration } = ports.status();
    const voters = textsOf(configuration.voters).filter((id) => !ids.includes(id));
    if (voters.length === 0) throw new ClusterError("invalid", "a cluster keeps at least one voting member");
    if (!hasLiveMajority(voters)) {
      throw new ClusterError(
        "conflict",
        `of the remaining voters ${voters.join(", ")} no majority can be reached, so the cluster could not write any longer`,
      );
    }
    const changes = ids.map((id) => ({ type: "remove-node" as const, nodeId: id }));
    await change({ transition: ids.length === 1 ? "auto" : "joint-implicit", changes }, [], deadline);
    ports.log.info("members removed", { removed: ids });
  };

  const prune = async (keep: readonly string[], deadline: Deadline): Promise<void> => {
    const status = requireLeadership(ports.status());
    const all = idsOf(status.configuration);
    const unknown = keep.filter((id) => !all.includes(id));
    if (keep.length === 0) throw new ClusterError("invalid", "name at least one member to keep");
    if (unknown.length > 0) {
      throw new ClusterError(
        "invalid",
        `not a member: ${unknown.join(", ")}; members are ${all.join(", ")} (prune only ever removes)`,
      );
    }
    const removed = all.filter((id) => !keep.includes(id));
    if (removed.length === 0) return;
    const voters = textsOf(status.configuration.voters).filter((id) => keep.includes(id));
    if (voters.length === 0) throw new ClusterError("invalid", "none of the members to keep has a vote yet");
    if (!hasLiveMajority(voters)) {
      throw new ClusterError("conflict", `of the voters to keep (${voters.join(", ")}) no majority can be reached`);
    }
    if (removed.includes(String(status.id))) {
      await handOverTo(mostAdvanced(status, voters.filter(isLive)), deadline);
      throw lostLeadershipError();
    }
    await removeAll(removed, deadline);
  };

  const handOverTo = async (to: string, deadline: Deadline): Promise<void> => {
    ports.transferLeader(to);
    while (ports.status().role === "leader" && deadline() > 0) await ports.nextChange(Math.min(200, deadline()));
    if (ports.status().role === "leader") {
      throw new ClusterError("no_leader", `leadership could not be handed over to ${to}: try again`);
    }
  };

  /**
   * Promotes learners that caught up within a round (Raft dissertation, 4.2.1). A round ends at the last index at its beginning.
   */
  const promoteCaughtUp = (status: RaftStatus): void => {
    for (const id of textsOf(status.configuration.learners)) {
      const progress = status.progress.get(id);
      if (progress === undefined) continue;
      const round = catchUps.get(id) ?? { target: status.lastIndex, startedTick: ticks, rounds: 1 };
      catchUps.set(id, round);
      if (progress.match < round.target) continue;
      if (ticks - round.startedTick <= ports.electionTicks && isLive(id)) {
        void changes.run(() => promote(id)).catch(() => undefined);
        return;
      }
      if (round.rounds === REPORT_AFTER_ROUNDS) {
        ports.log.warn("a learner does not catch up, so it does not get a vote yet", {
          member: id,
          rounds: round.rounds,
        });
      }
      catchUps.set(id, { target: status.lastIndex, startedTick: ticks, rounds: round.rounds + 1 });
    }
  };

  const promote = async (id: string): Promise<void> => {
    const { role, configuration } = ports.status();
    if (role !== "leader" || !configuration.learners.includes(id)) return;
    await change({ transition: "auto", changes: [{ type: "add-node", nodeId: id }] }, [], () => 0);
    catchUps.delete(id);
    ports.log.info("a member has caught up and now has a vote", { member: id });
  };

  /** Removes silent members, learners first and one at a time. */
  const removeSilent = (status: RaftStatus, deadAfterTicks: number): void => {
    const { learners, voters } = status.configuration;
    const dead = textsOf([...learners, ...voters]).find(
      (id) => id !== status.id && ports.silentTicks(id) >= deadAfterTicks,
    );
    if (dead === undefined) return;
    void changes
      .run(() => removeIfSilent(dead, deadAfterTicks))
      .catch((error: unknown) =>
        ports.log.warn("a silent member was not removed", { member: dead, why: String((error as Error).message) }),
      );
  };

  const removeIfSilent = async (id: string, deadAfterTicks: number): Promise<void> => {
    if (await ports.probe(id)) {
      ports.log.warn("a member does not answer its leader but answers a probe; it is not removed", { member: id });
      await waitTicks(2 * ports.electionTicks);
      return;
    }
    await waitTicks(2 * ports.electionTicks);
    if (ports.status().role !== "leader" || ports.silentTicks(id) < deadAfterTicks) return;
    await removeAll([id], () => 0);
  };

  const waitTicks = async (count: number): Promise<void> => {
    const until = ticks + count;
    const startedIn = term;
    while (ticks < until && startedIn === term) await ports.nextChange(100);
  };

  return {
    admit: (request, deadline) => changes.run(() => admit(request, deadline)),
    prune: (keep, deadline) => changes.run(() => prune(keep, deadline)),
    tick() {
      ticks += 1;
      // The status gathers the progress of all members, so it is not read at every tick.
      if (changes.inUse > 0 || ticks % 4 !== 0) return;
      const status = ports.status();
      if (status.role !== "leader" || status.term !== term) catchUps.clear();
      term = status.term;
      if (status.role !== "leader" || status.configuration.votersOutgoing.length > 0) return;
      promoteCaughtUp(status);
      if (ports.deadAfterTicks !== undefined) removeSilent(status, ports.deadAfterTicks);
    },
  };
}

function requireLeadership(status: RaftStatus): RaftStatus {
  if (status.role !== "leader") throw lostLeadershipError();
  return status;
}

function lostLeadershipError(): ClusterError {
  return new ClusterError("no_leader", "this node is no longer the leader", {
    details: { outcome: "not-leader" },
  });
}

/** Returns the ids of all members of both configurations, without duplicates, sorted. */
export function idsOf(configuration: Configuration): readonly string[] {
  const { voters, votersOutgoing, learners, learnersNext } = configuration;
  return [...new Set(textsOf([...voters, ...votersOutgoing, ...learners, ...learnersNext]))].sort();
}

function textsOf(ids: readonly (string | number)[]): readonly string[] {
  return ids.map(String);
}

/** Returns the member whose log reaches furthest; the first of several. */
export function mostAdvanced(status: RaftStatus, candidates: readonly string[]): string {
  const matchOf = (id: string): number => status.progress.get(id)?.match ?? 0;
  const best = candidates.toSorted((a, b) => matchOf(b) - matchOf(a))[0];
  if (best === undefined) throw new ClusterError("conflict", "no other voting member can be reached");
  return best;
}
