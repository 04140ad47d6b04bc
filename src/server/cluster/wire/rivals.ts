/**
 * Arbitrates between two processes with one node id, such as a node and a copy of its directory. The one that is connected
 * and answers stays; the other is refused. A process that was killed with its machine leaves a connection that looks alive,
 * so the connected one is probed first, and its successor has to dial again.
 */

import type { HelloRefusalCode, SelfDescription } from "./hello.ts";
import type { Wire } from "./link.ts";

export interface Rivals<Present extends RivalLink> {
  /** Returns the code to refuse `hello` with while `present` is connected; `undefined` if it may take its place. */
  refusalCodeFor(
    present: Present,
    hello: Pick<SelfDescription, "nodeId" | "incarnation">,
  ): HelloRefusalCode | undefined;
}

export type RivalLink = Pick<Wire, "probe" | "close"> & { readonly hello: Pick<SelfDescription, "incarnation"> };

/**
 * Timeout of a probe, in milliseconds. A busy process answers within it; a dialing peer tries again after about half a second.
 */
const PROBE_MS = 2_000;
/** Time for which an answer counts, in milliseconds. */
const FRESH_MS = 10_000;

interface RivalsOptions {
  /**
   * Returns whether this node's decision about the id is final: it leads, or it follows that very node. Several nodes that each
   * know of another process could otherwise end both.
   */
  decidesRivalry(nodeId: string): boolean;
  /** Returns the time of a monotonic clock, in milliseconds. */
  now(): number;
}

export function createRivals<Present extends RivalLink>({ decidesRivalry, now }: RivalsOptions): Rivals<Present> {
  /** Time of the last answer, by link; `undefined` while the link is being probed. */
  const answered = new WeakMap<Present, number | undefined>();

  const probe = async (present: Present): Promise<void> => {
    answered.set(present, undefined);
    if (await present.probe(PROBE_MS)) answered.set(present, now());
    else present.close(new Error("the peer did not answer, and another process of its node id is there"));
  };

  return {
    refusalCodeFor(present, { nodeId, incarnation }) {
      const other = present.hello.incarnation;
      if (other === undefined || incarnation === undefined || other === incarnation) return undefined;
      const at = answered.get(present);
      if (at !== undefined && now() - at < FRESH_MS) return decidesRivalry(nodeId) ? "duplicate_node" : "busy";
      if (at !== undefined || !answered.has(present)) void probe(present);
      return "busy";
    },
  };
}
