/**
 * Schedules TLS handshakes between other work. A full handshake blocks the thread for about a millisecond, so only a few begin in
 * each turn of the event loop. If clients begin handshakes and never finish them, the oldest are closed for new ones, so that a
 * flood or a thousand stalled connections cannot keep others out.
 */
import type { Socket } from "node:net";

/**
 * Time to begin handshakes in one turn of the event loop, in milliseconds. The rest waits for the next turn, behind other work.
 */
const MAX_TURN_MS = 3;
/** Maximum number of waiting and running handshakes, each about 100 KiB at most. */
export const MAX_HANDSHAKES = 1_024;

interface Handshakes {
  /** Begins the handshake of a connection whose first byte is TLS. */
  begin(raw: Socket): void;
  /** Notes that the handshake ended, successfully or not. */
  end(raw: Socket): void;
  readonly count: number;
}

/**
 * Schedules handshakes. `start` processes a client's first flight. `onDropped` is called when a handshake is closed to make room.
 */
export function createHandshakes(start: (raw: Socket) => void, onDropped: () => void): Handshakes {
  /** Connections in order of arrival. */
  const inProgress = new Set<Socket>();
  const waiting = new Set<Socket>();
  let spentMs = 0;
  let isNextTurnScheduled = false;

  const startNow = (raw: Socket): void => {
    const before = performance.now();
    start(raw);
    spentMs += performance.now() - before;
    if (isNextTurnScheduled) return;
    isNextTurnScheduled = true;
    setImmediate(runNextTurn);
  };
  const runNextTurn = (): void => {
    isNextTurnScheduled = false;
    spentMs = 0;
    for (const raw of waiting) {
      if (spentMs >= MAX_TURN_MS) return;
      waiting.delete(raw);
      startNow(raw);
    }
  };

  return {
    begin(raw) {
      if (inProgress.size >= MAX_HANDSHAKES) {
        const [oldest] = inProgress;
        oldest?.destroy();
        if (oldest !== undefined) end(oldest);
        onDropped();
      }
      inProgress.add(raw);
      raw.once("close", () => end(raw));
      if (waiting.size === 0 && spentMs < MAX_TURN_MS) startNow(raw);
      else waiting.add(raw);
    },
    end: end,
    get count() {
      return inProgress.size;
    },
  };

  function end(raw: Socket): void {
    inProgress.delete(raw);
    waiting.delete(raw);
  }
}
