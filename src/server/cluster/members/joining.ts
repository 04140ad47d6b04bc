/**
 * Gets a node without state admitted: asks the join list in order, again after a pause, until the node is admitted or sixty
 * seconds have passed. Source: specification document 1 (cluster membership) and 2 (`cluster.join`).
 *
 * With a bootstrap wait, and only after every address was silent for that long, it starts a cluster of its own. Silent means a
 * name that does not resolve, a closed port, or a peer without a cluster; any other answer shows that there may be a cluster, and
 * the wait starts again.
 */

import type { Member } from "../../core/state/index.ts";

export type JoinAnswer =
  | { readonly kind: "admitted"; readonly members: readonly Member[]; readonly recoveryEpoch: number }
  | { readonly kind: "silent"; readonly reason: string }
  | { readonly kind: "refused"; readonly reason: string };

export interface JoinPorts {
  /** Asks one address, and follows a follower's hint to its leader. Rejects only with the signal's reason. */
  ask(address: string, timeoutMs: number): Promise<JoinAnswer>;
  pause(ms: number): Promise<void>;
  /** Returns the time of a monotonic clock, in milliseconds. */
  now(): number;
  onAnswer(address: string, answer: JoinAnswer): void;
}

export type JoinOutcome =
  | { readonly kind: "admitted"; readonly members: readonly Member[]; readonly recoveryEpoch: number }
  | { readonly kind: "bootstrap" };

/** Error if no cluster admitted this node. The process ends with status 12. */
export class JoinError extends Error {
  constructor(answers: ReadonlyMap<string, string>) {
    const lines = [...answers].map(([address, why]) => `${address}: ${why}`);
    super(
      `no address of cluster.join admitted this node within ${JOIN_LIMIT_MS / 1000} s (${lines.join("; ")}): ` +
        "check that a member with a leader listens there, and that cluster.secret is the same",
    );
    this.name = "JoinError";
  }
}

export const JOIN_LIMIT_MS = 60_000;

const PAUSE_MS = 500;

/** Timeout of one request, in milliseconds. A leader may first have to commit a removal and an addition. */
const ASK_TIMEOUT_MS = 10_000;

export async function join(
  addresses: readonly string[],
  bootstrapAfterMs: number | undefined,
  ports: JoinPorts,
): Promise<JoinOutcome> {
  const startedAt = ports.now();
  const answers = new Map<string, string>();
  let silentSince = startedAt;
  for (;;) {
    let isSilent = true;
    for (const address of addresses) {
      const remainingMs = startedAt + JOIN_LIMIT_MS - ports.now();
      if (remainingMs <= 0) throw new JoinError(answers);
      const answer = await ports.ask(address, Math.min(remainingMs, ASK_TIMEOUT_MS));
      ports.onAnswer(address, answer);
      if (answer.kind === "admitted") return answer;
      answers.set(address, answer.reason);
      if (answer.kind !== "refused") continue;
      isSilent = false;
      silentSince = ports.now();
    }
    const silentMs = ports.now() - silentSince;
    if (bootstrapAfterMs !== undefined && isSilent && silentMs >= bootstrapAfterMs) return { kind: "bootstrap" };
    await ports.pause(PAUSE_MS);
  }
}
