import { Server } from "node:net";

/**
 * Maximum number of connections that the system keeps until the process accepts them. After a restart all clients connect at
 * once, and Node's default of 511 makes the others wait for a second and more, or resets them. Linux limits it by
 * `net.core.somaxconn`, which is 4,096 by default.
 */
export const LISTEN_BACKLOG = 4_096;

/**
 * Limits of the wait for a short turn of the event loop: maximum number of turns, and maximum duration of a short one
 * in milliseconds.
 */
const MAX_TURNS = 20;
const SHORT_TURN_MS = 0.2;

/**
 * Stops a server from accepting connections. Resolves when it no longer listens; `onClosed` is called when all its
 * connections are closed. Closing the socket resets connections that the system has established and this process has
 * not accepted. So it is closed right after a short turn of the event loop, which has accepted all of them.
 */
export function stopAccepting(server: Server, onClosed: () => void = () => undefined): Promise<void> {
  return new Promise((done) => {
    let turnCount = 0;
    let startedAt = Number.NEGATIVE_INFINITY;
    const turn = (): void => {
      const now = performance.now();
      turnCount++;
      if (now - startedAt < SHORT_TURN_MS || turnCount > MAX_TURNS) {
        // Uses the method of `net`, since that of `http` closes idle connections at once and stops the timeouts of the others.
        Server.prototype.close.call(server, () => onClosed());
        done();
        return;
      }
      startedAt = now;
      setImmediate(turn);
    };
    // Waits for a timer and a new turn: this process was just scheduled, so it is unlikely to be preempted now.
    setTimeout(() => setImmediate(turn), 1);
  });
}
