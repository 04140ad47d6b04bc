/**
 * Membership operations, sent to the current leader: add a learner, promote, remove, prune through a joint
 * configuration, and bring a removed member back on its old or a blank disk. A new process starts once its addition is
 * applied somewhere, as a joining node waits for the answer to its request.
 */

import type { ConfChange, Configuration } from "../../src/server/core/raft/index.ts";
import { createNode, restartNode, stopNode } from "./node.ts";
import { hasQuorum, isVoter, membersOf } from "./quorum.ts";
import { leaderOf, type SimNode, type World } from "./world.ts";

type SingleChange = ConfChange["changes"][number];

export interface Admin {
  /** Requests one random change. */
  change(): void;
  /** Leaves an explicit joint configuration, if one is in force. */
  settle(): void;
  onMembers(
    index: number,
    applied: { readonly members: readonly string[]; readonly storages: ReadonlyMap<string, number> },
  ): void;
}

export function createAdmin(world: World): Admin {
  const { plan, random, trace } = world;
  let highest = 0;

  const storageOf = (id: string): number => world.nodes.get(id)?.storage ?? 0;

  const propose = (leader: SimNode, transition: ConfChange["transition"], changes: readonly SingleChange[]): void => {
    const text = changes.map(({ type, nodeId }) => `${type} ${nodeId}`).join(", ");
    world.scheduleOn(leader, 0, () => {
      // A removed member may return with a blank disk. A member never changes its disk.
      const storages = changes.map(({ type, nodeId }) => {
        const id = String(nodeId);
        const isNew = type !== "remove-node" && !membersOf(leader.configuration).includes(id);
        const isUsable = world.nodes.has(id) && world.nodes.get(id)?.state !== "refused";
        return isNew && (!isUsable || random.chance(0.7)) ? storageOf(id) + 1 : storageOf(id);
      });
      leader.driver?.proposeConf({ transition, changes, context: Uint8Array.from(storages) }, (outcome) => {
        const end = outcome.kind === "refused" ? outcome.code : outcome.kind;
        trace.note(world.now, leader.id, `change (${text || "leave"}) ends:`, end);
      });
    });
  };

  const unknownMembers = ({ votersOutgoing, ...rest }: Configuration): readonly string[] => {
    const members = membersOf({ ...rest, votersOutgoing });
    const ids = Array.from({ length: plan.maxMembers }, (_, at) => `n${at + 1}`);
    return members.length >= plan.maxMembers ? [] : ids.filter((id) => !members.includes(id));
  };

  const change = (): void => {
    const leader = leaderOf(world);
    if (leader === undefined) return;
    const { configuration } = leader;
    const { voters, learners, votersOutgoing } = configuration;
    if (votersOutgoing.length > 0) {
      if (!configuration.autoLeave) propose(leader, "auto", []);
      return;
    }
    const others = unknownMembers(configuration);
    const roll = random.below(10);
    if (roll < 3 && others.length > 0) {
      propose(leader, "auto", [{ type: "add-learner", nodeId: random.pick(others) }]);
    } else if (roll < 6 && learners.length > 0) {
      propose(leader, "auto", [{ type: "add-node", nodeId: random.pick(learners) }]);
    } else if (roll < 7 && voters.length > 1) {
      propose(leader, "auto", [
        { type: random.pick(["remove-node", "remove-node", "add-learner"]), nodeId: random.pick(voters) },
      ]);
    } else if (roll < 8 && others.length > 0) {
      propose(leader, "auto", [{ type: "add-node", nodeId: random.pick(others) }]);
    } else {
      propose(
        leader,
        random.pick(["joint-implicit", "joint-implicit", "joint-explicit"]),
        mixed(configuration, others),
      );
    }
  };

  /** A prune to some voters, combined with another random change. */
  const mixed = ({ voters, learners }: Configuration, others: readonly string[]): readonly SingleChange[] => {
    const [keep, ...rest] = random.shuffled(voters);
    if (keep === undefined) return [];
    const leaving = rest.filter(() => random.chance(0.5));
    return [
      ...leaving.map((nodeId) => ({
        type: random.pick(["remove-node", "remove-node", "add-learner"] as const),
        nodeId,
      })),
      ...learners.filter(() => random.chance(0.5)).map((nodeId) => ({ type: "add-node" as const, nodeId })),
      ...others.slice(0, random.below(2)).map((nodeId) => ({ type: "add-node" as const, nodeId })),
    ];
  };

  const startWithBlankDisk = (id: string, storage: number): void => {
    const old = world.nodes.get(id);
    if (old !== undefined) stopNode(world, old, "process");
    const blank: Configuration = { voters: [], votersOutgoing: [], learners: [], learnersNext: [], autoLeave: false };
    const node = createNode(world, {
      id,
      storage,
      behind: world.ledger.root,
      snapshot: {
        meta: { index: 0, term: 0, configuration: blank },
        link: world.ledger.root,
        machine: world.machines.create(0),
        storages: new Map(),
      },
    });
    world.nodes.set(id, node);
    world.schedule(random.real() * 100, () => {
      if (world.nodes.get(id) === node && node.state === "down") restartNode(world, node);
    });
  };

  /**
   * A removed member learns of it and its process ends; until then it keeps asking for votes. It is needed until those
   * who stay know durably that it is removed, because before that they count it as a voter (the two-member caveat of
   * the reference, 2.6).
   */
  const retire = (id: string): void => {
    world.schedule(random.real() ** 2 * 3_000, () => {
      const node = world.nodes.get(id);
      const newest = world.checks.configurationAt(Number.MAX_SAFE_INTEGER);
      if (node === undefined || node.state === "gone" || node.state === "refused" || membersOf(newest).includes(id))
        return;
      const knows = (one: string | number): boolean => {
        const disk = world.nodes.get(String(one))?.disk;
        return disk !== undefined && Math.max(disk.durable.hardState.commit, disk.snapshot.meta.index) >= highest;
      };
      if (!hasQuorum(newest, knows)) {
        retire(id);
        return;
      }
      stopNode(world, node, "process");
      node.state = "gone";
      trace.note(world.now, id, "is retired");
    });
  };

  return {
    change,
    settle() {
      const leader = leaderOf(world);
      if (leader === undefined) return;
      const { votersOutgoing, autoLeave } = leader.configuration;
      if (votersOutgoing.length > 0 && !autoLeave) propose(leader, "auto", []);
    },
    onMembers(index, { members, storages }) {
      if (index <= highest) return;
      highest = index;
      trace.note(world.now, "all", `members from ${index} on:`, members.join());
      for (const id of members) {
        const node = world.nodes.get(id);
        const storage = storages.get(id) ?? 0;
        if (node === undefined || node.storage < storage) startWithBlankDisk(id, storage);
        else if (node.state === "gone") {
          node.state = "down";
          world.schedule(random.real() * 100, () => {
            if (node.state === "down" && world.nodes.get(id) === node) restartNode(world, node);
          });
        }
      }
      for (const id of world.nodes.keys()) if (!members.includes(id)) retire(id);
    },
  };
}

/** Whether the node votes in the newest configuration applied by any node. */
export function isVotingNow(world: World, id: string): boolean {
  return isVoter(world.checks.configurationAt(Number.MAX_SAFE_INTEGER), id);
}
