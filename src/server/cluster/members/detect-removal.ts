/**
 * Finds out whether the cluster has removed this node. The leader notifies a member that it removes, but cannot reach one that
 * was stopped, cut off or restarted on its old directory. So a node that hears no leader asks the members that it knows, and they
 * answer by a confirmed read (`requests/cluster-requests.ts`). The result is stored in the data directory, and withdrawn once a
 * later entry makes the node a member again.
 */

import type { Log } from "../../../base/index.ts";
import type { Configuration } from "../../core/raft/index.ts";
import { ELECTION_TICKS } from "../consensus/ticker.ts";
import { type Network, NO_BODY } from "../network.ts";
import type { Storage } from "../storage/index.ts";
import { idsOf } from "./membership.ts";

interface RemovalPorts {
  readonly nodeId: string;
  readonly storage: Pick<Storage, "removedAt" | "setRemovedAt">;
  /** Whether this node asks for admission by itself (`cluster.join`). */
  readonly canRejoin: boolean;
  /** Configuration as of this start. */
  readonly configuration: Configuration;
  readonly appliedIndex: number;
  readonly log: Log;
  onChange(): void;
  onFault(error: unknown): void;
}

interface RemovalDetector {
  /** Returns whether the node was removed and is not a member again. */
  isKnown(): boolean;
  /** Returns whether the removal is final: the node takes no part in consensus until it is restarted. */
  isFinal(): boolean;
  /** Notes that the leader reported the removal while this process ran. */
  onLeaderReport(index: number): void;
  /** Notes that a member reported the removal when it was asked. */
  onMemberReport(index: number): void;
  /** Notes that the configuration at `index` is applied. */
  onConfiguration(configuration: Configuration, index: number): void;
}

export function createRemovalDetector(ports: RemovalPorts): RemovalDetector {
  const { nodeId, storage, log, canRejoin } = ports;
  let removedAt = storage.removedAt();
  let isReported = false;
  let writing: Promise<void> = Promise.resolve();

  const store = (index: number | undefined): void => {
    removedAt = index;
    writing = writing.then(() => storage.setRemovedAt(index)).catch(ports.onFault);
    ports.onChange();
  };

  const recordRemoval = (index: number): void => {
    log.error(
      "this node was removed from its cluster: it is not ready, and after 10 s its data plane refuses requests, since it does " +
        `not learn about revoked keys. ${canRejoin && !isReported ? REJOIN_HINT : STOP_HINT}`,
      { index },
    );
    store(index);
  };

  const onConfiguration = (configuration: Configuration, index: number): void => {
    if (removedAt === undefined || index <= removedAt || !idsOf(configuration).includes(nodeId)) return;
    log.info("this node is a member of its cluster again", { index });
    store(undefined);
  };

  if (removedAt !== undefined) {
    // The node was admitted again, and ended before that was stored.
    if (ports.appliedIndex > removedAt && idsOf(ports.configuration).includes(nodeId)) {
      removedAt = undefined;
      writing = storage.setRemovedAt(undefined).catch(ports.onFault);
    } else {
      log.error(
        `this node was removed from its cluster before it started and does not serve. ${canRejoin ? REJOIN_HINT : STOP_HINT}`,
        { index: removedAt },
      );
    }
  }

  return {
    isKnown: () => removedAt !== undefined,
    isFinal: () => removedAt !== undefined && (isReported || !canRejoin),
    onLeaderReport(index) {
      isReported = true;
      if (removedAt === undefined) recordRemoval(index);
      else ports.onChange();
    },
    onMemberReport(index) {
      if (removedAt === undefined) recordRemoval(index);
    },
    onConfiguration,
  };
}

const STOP_HINT = "Stop it. To bring it back, start it with `cluster.join`, on its data directory or an empty one";
const REJOIN_HINT = "It asks the addresses in `cluster.join` for re-admission";

/** Interval between two rounds of questions. */
const ASK_TICKS = 2 * ELECTION_TICKS;
const ASK_TIMEOUT_MS = 6_000;
/** Maximum number of members asked in a round. They answer after a read that a leader confirms. */
const MAX_ASKED = 16;

interface RemovalCheckPorts {
  readonly nodeId: string;
  readonly storageId: string;
  ask: Network["request"];
  /** Returns the forward addresses of members, as far as this node knows them. */
  addresses(): readonly string[];
  /** Returns whether no leader is heard and no removal is known. */
  isInDoubt(): boolean;
  onRemoved(index: number): void;
}

/** Returns a function to call at every tick. */
export function createRemovalCheck(ports: RemovalCheckPorts): () => void {
  let ticksInDoubt = 0;
  let isAsking = false;

  const askOne = async (address: string): Promise<number | undefined> => {
    const header = { member: { id: ports.nodeId, storage: ports.storageId } };
    const reply = await ports.ask(address, { kind: "status", header, body: NO_BODY }, ASK_TIMEOUT_MS);
    // A build that does not know the question answers without `membership`.
    const answer = reply.kind === "reply" ? reply.header["membership"] : undefined;
    const { is_member, index } = (answer ?? {}) as { readonly is_member?: unknown; readonly index?: unknown };
    return is_member === false && typeof index === "number" && Number.isSafeInteger(index) ? index : undefined;
  };

  const askAll = async (): Promise<void> => {
    const answers = await Promise.all(ports.addresses().slice(0, MAX_ASKED).map(askOne));
    const known = answers.filter((index) => index !== undefined);
    // A node that was admitted again while it asked hears its leader, and is then no longer in doubt.
    if (known.length > 0 && ports.isInDoubt()) ports.onRemoved(Math.max(...known));
  };

  return () => {
    ticksInDoubt = ports.isInDoubt() ? ticksInDoubt + 1 : 0;
    if (ticksInDoubt < ASK_TICKS || isAsking) return;
    ticksInDoubt = 0;
    isAsking = true;
    askAll()
      .catch(() => undefined)
      .finally(() => {
        isAsking = false;
      });
  };
}
