/**
 * Ticks of consensus. Source: cluster reference, section 2.4.
 *
 * A process that was stopped (SIGSTOP, a long garbage collection, a sleeping machine) must first read what its peers sent
 * meanwhile before it decides that its leader is silent. So missed ticks are not made up for.
 */

export const TICK_MS = 50;
export const HEARTBEAT_TICKS = 2;
export const ELECTION_TICKS = 20;

/** Maximum ticks at once: half an election timeout. */
const MAX_TICKS_AT_ONCE = ELECTION_TICKS / 2;

/** Starts the ticks. `now`: monotonic milliseconds. Returns a function that stops them. */
export function startTicker(onTick: () => void, now: () => number): () => void {
  let last = now();
  const timer = setInterval(() => {
    const dueTicks = Math.floor((now() - last) / TICK_MS);
    if (dueTicks <= 0) return;
    last += dueTicks * TICK_MS;
    const isAsleep = dueTicks >= ELECTION_TICKS;
    for (let count = isAsleep ? 1 : Math.min(dueTicks, MAX_TICKS_AT_ONCE); count > 0; count -= 1) onTick();
  }, TICK_MS);
  return () => clearInterval(timer);
}
