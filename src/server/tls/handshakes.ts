/**
 * Handshakes in the midst of everybody else's requests. A full one holds the thread for about a millisecond, so in one
 * turn of the event loop only a few are begun; of clients that begin one and never end it, the oldest make room for who
 * comes, so that neither a flood nor a thousand stalled connections keep others out.
 */
import type { Socket } from "node:net";

/** Begun in one turn of the event loop; the rest waits for the next, behind what others have to do. */
const BUDGET_MS = 3;
/** Waiting and under way, each some 100 KiB at most. */
export const MAX_UNDER_WAY = 1_024;

export interface Handshakes {
  /** A connection whose first byte says TLS. */
  begin(raw: Socket): void;
  /** It came to its end, well or not. */
  ended(raw: Socket): void;
  readonly underWay: number;
}

/** `start` takes the first flight in. `onDropped`: one was cut off to make room. */
export function createHandshakes(start: (raw: Socket) => void, onDropped: () => void): Handshakes {
  /** In the order in which they came. */
  const underWay = new Set<Socket>();
  const waiting = new Set<Socket>();
  let spentMs = 0;
  let isTurnEnding = false;

  const startNow = (raw: Socket): void => {
    const before = performance.now();
    start(raw);
    spentMs += performance.now() - before;
    if (isTurnEnding) return;
    isTurnEnding = true;
    setImmediate(nextTurn);
  };
  const nextTurn = (): void => {
    isTurnEnding = false;
    spentMs = 0;
    for (const raw of waiting) {
      if (spentMs >= BUDGET_MS) return;
      waiting.delete(raw);
      startNow(raw);
    }
  };

  return {
    begin(raw) {
      if (underWay.size >= MAX_UNDER_WAY) {
        const [oldest] = underWay;
        oldest?.destroy();
        if (oldest !== undefined) end(oldest);
        onDropped();
      }
      underWay.add(raw);
      raw.once("close", () => end(raw));
      if (waiting.size === 0 && spentMs < BUDGET_MS) startNow(raw);
      else waiting.add(raw);
    },
    ended: end,
    get underWay() {
      return underWay.size;
    },
  };

  function end(raw: Socket): void {
    underWay.delete(raw);
    waiting.delete(raw);
  }
}
