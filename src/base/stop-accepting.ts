import { Server } from "node:net";

/** Turns of the event loop that are waited for one that is short, and how short that is. */
const MAX_TURNS = 20;
const SHORT_TURN_MS = 0.2;

/**
 * Resolves once the server listens no more; `onClosed` is called when all of its connections are closed. Closing the socket
 * resets what the system has connected and we have not taken, so it is done right behind a turn of the loop that took all
 * there was, and that others did not make long.
 */
export function stopAccepting(server: Server, onClosed: () => void = () => undefined): Promise<void> {
  return new Promise((done) => {
    let turns = 0;
    let startedAt = Number.NEGATIVE_INFINITY;
    const turn = (): void => {
      const now = performance.now();
      turns++;
      if (now - startedAt < SHORT_TURN_MS || turns > MAX_TURNS) {
        // Of `net`, and not of `http`: that one would close the idle ones at once and stop timing the others.
        Server.prototype.close.call(server, () => onClosed());
        done();
        return;
      }
      startedAt = now;
      setImmediate(turn);
    };
    // Whoever was just woken is not soon put to sleep.
    setTimeout(() => setImmediate(turn), 1);
  });
}
