/**
 * An in-memory cluster driven by a script, which records what happens.
 *
 * Nothing moves on its own: a node's Ready, its appends, its applying and every message wait for a command. Messages
 * are in one list in sending order.
 */

import type { Message, NodeId } from "../../../../src/server/core/raft/index.ts";
import { createChecker } from "./checker.ts";
import {
  crash,
  createNode,
  finishAppend,
  finishApply,
  type Limits,
  type Node,
  type Surroundings,
  takeReady,
} from "./node.ts";
import { changeText, configurationText, entryText, messageText, snapshotText } from "./trace.ts";

/** A script that needs more rounds to settle is in an endless loop. */
const MAX_ROUNDS = 100;

export interface MessageFilter {
  readonly to?: NodeId;
  readonly from?: NodeId;
  readonly type?: string;
  /** Maximum number. */
  readonly count?: number;
}

export interface ScriptCluster {
  readonly nodes: ReadonlyMap<NodeId, Node>;
  /** Replaces the cluster with a new one. */
  clear(): void;
  add(id: NodeId, first: Parameters<typeof createNode>[1], limits: Limits): void;
  node(id: NodeId): Node;
  /** Returns everything that happened since the last call. */
  takeTrace(): readonly string[];
  handOut(id: NodeId): void;
  appendOne(id: NodeId): boolean;
  applyOne(id: NodeId): boolean;
  /**
   * Processes matching messages in order; `fate` says whether they arrive, are lost, or arrive and stay to arrive
   * again.
   */
  deliver(filter: MessageFilter, fate: "arrive" | "drop" | "repeat"): number;
  /** Adds a message made by the script. */
  put(message: Message): void;
  /** Runs until nothing moves among `ids`; messages of others stay. */
  stabilize(ids: readonly NodeId[]): void;
  setCut(from: NodeId, to: NodeId, isCut: boolean): void;
  crash(id: NodeId): void;
  note(line: string): void;
}

export function createScriptCluster(): ScriptCluster {
  const nodes = new Map<NodeId, Node>();
  let checker = createChecker();
  const cuts = new Set<string>();
  const lastLines = new Map<NodeId, string>();
  let net: Message[] = [];
  let trace: string[] = [];
  const note = (line: string) => {
    trace.push(line);
  };
  const node = (id: NodeId) => {
    const found = nodes.get(id);
    if (found === undefined) throw new Error(`there is no node ${id}`);
    return found;
  };
  const around: Surroundings = {
    send(message) {
      checker.leave(message, node(message.from));
      net.push(message);
    },
    isReady({ id, raft }, { softState, hardState, snapshot }) {
      if (softState !== undefined || hardState !== undefined) {
        const { role, term, vote, lead, commit } = raft.status();
        const line = `${id} ${role} term=${term} vote=${vote ?? "-"} lead=${lead ?? "-"}`;
        if (lastLines.get(id) !== line) note(line);
        lastLines.set(id, line);
        if (hardState !== undefined && commit > 1) note(`${id} commit ${commit}`);
      }
      if (snapshot !== undefined) note(`${id} to install ${snapshotText(snapshot)}`);
    },
    durable(of, { entries, snapshot }) {
      checker.append(of, entries);
      if (entries.length > 0) note(`${of.id} append ${entries.map(entryText).join(", ")}`);
      if (snapshot !== undefined) note(`${of.id} installed ${snapshot.term}/${snapshot.index}`);
    },
    appliedEntry({ id, configuration }, entry, change) {
      checker.apply(entry);
      note(`${id} apply ${entryText(entry)}`);
      if (change !== undefined) note(`${id} after ${changeText(change)}: ${configurationText(configuration)}`);
    },
    read: ({ id }, { index, context }) => note(`${id} read ${new TextDecoder().decode(context)} at ${index}`),
  };
  const look = (of: Node) => checker.look(of);

  const cluster: ScriptCluster = {
    nodes,
    node,
    note,
    clear() {
      nodes.clear();
      cuts.clear();
      lastLines.clear();
      net = [];
      checker = createChecker();
    },
    add(id, first, limits) {
      nodes.set(id, createNode(id, first, limits));
      lastLines.set(id, `${id} follower term=${first.term} vote=- lead=-`);
    },
    takeTrace() {
      const taken = trace;
      trace = [];
      return taken;
    },
    handOut(id) {
      const of = node(id);
      if (of.raft.hasReady()) takeReady(of, around);
      look(of);
    },
    appendOne(id) {
      const of = node(id);
      if (of.appends.length === 0) return false;
      finishAppend(of, around);
      look(of);
      return true;
    },
    applyOne(id) {
      const of = node(id);
      if (of.applies.length === 0) return false;
      finishApply(of, around);
      look(of);
      return true;
    },
    deliver({ to, from, type, count }, fate) {
      const matches = (message: Message) =>
        (to === undefined || message.to === to) &&
        (from === undefined || message.from === from) &&
        (type === undefined || message.type === type);
      const chosen = net.filter(matches).slice(0, count);
      if (fate !== "repeat") net = net.filter((message) => !chosen.includes(message));
      for (const message of chosen) {
        const isCut = cuts.has(`${message.from}>${message.to}`);
        const isLost = fate === "drop" || isCut || !nodes.has(message.to);
        note(`${messageText(message)}${isLost ? " (lost)" : ""}`);
        if (isLost) continue;
        node(message.to).raft.step(message);
        look(node(message.to));
      }
      return chosen.length;
    },
    put(message) {
      net.push(message);
    },
    stabilize(ids) {
      for (let round = 0; round < MAX_ROUNDS; round += 1) {
        let isBusy = false;
        for (const id of ids) {
          const of = node(id);
          for (; of.raft.hasReady(); isBusy = true) cluster.handOut(id);
          while (cluster.appendOne(id)) isBusy = true;
          while (cluster.applyOne(id)) isBusy = true;
        }
        for (const id of ids) if (cluster.deliver({ to: id }, "arrive") > 0) isBusy = true;
        if (!isBusy) return;
      }
      throw new Error("the cluster does not come to rest");
    },
    setCut(from, to, isCut) {
      if (isCut) cuts.add(`${from}>${to}`);
      else cuts.delete(`${from}>${to}`);
    },
    crash(id) {
      const of = node(id);
      crash(of);
      checker.restart(of);
      const { term, vote } = of.raft.status();
      lastLines.set(id, `${id} follower term=${term} vote=${vote ?? "-"} lead=-`);
    },
  };
  return cluster;
}
