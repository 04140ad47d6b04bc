/**
 * Passes queries of other members to the main thread of this node, which has its measurements. Each query has a timeout, after
 * which there is no answer, and their number is limited.
 */

interface PeerQueries {
  ask(question: unknown, timeoutMs: number): Promise<Uint8Array | undefined>;
  answered(id: number, body: Uint8Array | undefined): void;
}

/** Maximum number of concurrent queries; each may have an answer of 2 MiB. */
const MAX_UNDER_WAY = 32;

/** Creates the queue of queries. `hand`: passes a query to the main thread, which answers under its id or never. */
export function createPeerQueries(hand: (id: number, question: unknown) => void): PeerQueries {
  const waiting = new Map<number, (body: Uint8Array | undefined) => void>();
  let last = 0;
  return {
    ask(question, timeoutMs) {
      if (waiting.size >= MAX_UNDER_WAY) return Promise.resolve(undefined);
      last += 1;
      const id = last;
      return new Promise((resolve) => {
        const end = (body: Uint8Array | undefined): void => {
          clearTimeout(timer);
          waiting.delete(id);
          resolve(body);
        };
        const timer = setTimeout(() => end(undefined), timeoutMs);
        waiting.set(id, end);
        hand(id, question);
      });
    },
    answered: (id, body) => waiting.get(id)?.(body),
  };
}
