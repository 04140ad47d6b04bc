/**
 * Connections that are renewed all the time, and at each start of a process. The accepting node checks whether the
 * other's log ends before what it knows of it. If every disk keeps what was synced to it, no node may ever be found to
 * have lost data, whatever messages are lost, duplicated or late.
 *
 * Here a hello and a node's report of its log end arrive immediately. In production they may take a while, but no later
 * message of that node can overtake them, since all use the same connection.
 */

import { createPeers, type ReplicaPeers } from "../../src/server/cluster/members/peers.ts";
import { membersOf } from "./quorum.ts";
import { must } from "./violation.ts";
import { runningNodes, type SimNode, type World } from "./world.ts";

const SILENT = { debug() {}, info() {}, warn() {}, error() {} };

/** Knowledge that the node's process has of its peers; empty at its start. */
export function peersOf(node: SimNode): ReplicaPeers {
  const known = (id: string): string => String(node.storages.get(id) ?? 0);
  return createPeers({
    path: node.id,
    log: SILENT,
    store: { lastIndex: () => node.disk.durable.last.index },
    directory: {
      ids: () => membersOf(node.configuration).map(String),
      mayBelongTo: (id, storageId) => known(id) === storageId,
      refusalCodeFor: () => undefined,
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

/** Connects a starting process to all others. */
export function connectToAll(world: World, node: SimNode): void {
  for (const other of runningNodes(world)) {
    if (other === node) continue;
    connect(world, node, other);
    connect(world, other, node);
  }
}

/** Called at each tick of the node: connects to the next of the others. */
export function connectInTurn(world: World, node: SimNode, tick: number): void {
  node.peers?.recordSafeIndexes();
  const others = runningNodes(world).filter((other) => other !== node);
  const other = others[tick % Math.max(1, others.length)];
  if (other === undefined) return;
  other.peers?.onSafeIndex(wordsOf(node), node.peers?.safeIndex() ?? 0);
  connect(world, node, other);
}

function connect(world: World, from: SimNode, to: SimNode): void {
  if (from.peers === undefined || to.peers === undefined || world.plan.damage) return;
  must(from.driver?.status().loss === undefined, "no loss is seen where nothing is lost", () => from.id);
  const code = to.peers.rollbackCodeFor({ ...wordsOf(from), log: from.peers.position() });
  must(code === undefined, "nobody is falsely said to have forgotten", () => {
    const { hadIndex, lastIndex } = to.peers?.rolledBack().get(from.id) ?? {};
    return `${to.id} says of ${from.id} that it had ${hadIndex}, and its log ends with ${lastIndex}`;
  });
}

const wordsOf = ({ id, storage }: SimNode) => ({ nodeId: id, storageId: String(storage) });
