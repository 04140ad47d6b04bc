/**
 * Connections that are made anew, all the time and at each start of a process: whoever takes one looks whether the log of
 * the other ends before what is known of it. In a history in which every disk keeps what was synced to it nobody may ever
 * be found to have forgotten, whatever messages are lost, doubled or late.
 *
 * A hello and a node's word of how far it is arrive at once here. In production they may take a while, but nothing that
 * the node says later comes before them, since it leaves on the same connection.
 */

import { createPeers, type OwnPeers } from "../../src/server/cluster/members/peers.ts";
import { membersOf } from "./quorum.ts";
import { must } from "./violation.ts";
import { runningNodes, type SimNode, type World } from "./world.ts";

const SILENT = { debug() {}, info() {}, warn() {}, error() {} };

/** What the node's process knows of its peers: nothing at its start. */
export function peersOf(node: SimNode): OwnPeers {
  const known = (id: string): string => String(node.storages.get(id) ?? 0);
  return createPeers({
    path: node.id,
    log: SILENT,
    store: { lastIndex: () => node.disk.durable.last.index },
    book: {
      ids: () => membersOf(node.configuration).map(String),
      isOf: (id, storageId) => known(id) === storageId,
      judge: () => undefined,
      storageOf: known,
    },
    status() {
      const { driver } = node;
      if (driver === undefined) throw new Error(`${node.id} does not run`);
      return driver.status();
    },
    monotonic: () => 0,
    onEnd() {},
  });
}

/** Of a process that starts: with everybody. */
export function connectToAll(world: World, node: SimNode): void {
  for (const other of runningNodes(world)) {
    if (other === node) continue;
    connect(world, node, other);
    connect(world, other, node);
  }
}

/** To be called at each tick of the node: one of the others, in turn. */
export function connectInTurn(world: World, node: SimNode, tick: number): void {
  node.peers?.look();
  const others = runningNodes(world).filter((other) => other !== node);
  const other = others[tick % Math.max(1, others.length)];
  if (other === undefined) return;
  other.peers?.onSafeIndex(wordsOf(node), node.peers?.safeIndex() ?? 0);
  connect(world, node, other);
}

function connect(world: World, from: SimNode, to: SimNode): void {
  if (from.peers === undefined || to.peers === undefined || world.plan.damage) return;
  must(from.driver?.status().loss === undefined, "no loss is seen where nothing is lost", () => from.id);
  const code = to.peers.recall({ ...wordsOf(from), log: from.peers.position() });
  must(code === undefined, "nobody is falsely said to have forgotten", () => {
    const { hadIndex, lastIndex } = to.peers?.forgotten().get(from.id) ?? {};
    return `${to.id} says of ${from.id} that it had ${hadIndex}, and its log ends with ${lastIndex}`;
  });
}

const wordsOf = ({ id, storage }: SimNode) => ({ nodeId: id, storageId: String(storage) });
