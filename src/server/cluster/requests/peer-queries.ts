/**
 * Passes queries of other members to the main thread of this node, which has its measurements. Each query has a timeout, after
 * which there is no answer, and their number is limited.
 */

interface PeerQueries {
  ask(question: unknown, timeoutMs: number): Promise<Uint8Array | undefined>;
  settle(id: number, body: Uint8Array | undefined): void;
}

/** Maximum number of concurrent queries; each may have an answer of 2 MiB. */
const MAX_PENDING = 32;

/** Creates the queue of queries. `passOn`: passes a query to the main thread, which answers under its id or never. */
export function createPeerQueries(passOn: (id: number, question: unknown) => void): PeerQueries {
  const waiting = new Map<number, (body: Uint8Array | undefined) => void>();
  let lastId = 0;
  return {
    ask(question, timeoutMs) {
      if (waiting.size >= MAX_PENDING) return Promise.resolve(undefined);
      lastId += 1;
      const id = lastId;
      return new Promise((resolve) => {
        const end = (body: Uint8Array | undefined): void => {
          clearTimeout(timer);
          waiting.delete(id);
          resolve(body);
        };
        const timer = setTimeout(() => end(undefined), timeoutMs);
        waiting.set(id, end);
        passOn(id, question);
      });
    },
    settle: (id, body) => waiting.get(id)?.(body),
  };
}
