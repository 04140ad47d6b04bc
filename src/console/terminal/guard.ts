/**
 * What happens to the process while the console has the terminal, so that the terminal comes back in every case. SIGINT
 * and SIGTERM reach the console as any other verb, through the signal that it is given.
 */

import type { Screen } from "./screen.ts";

/** Returns what takes the handlers off again. */
export function guardTerminal(screen: Screen): () => void {
  const handlers = {
    exit: () => screen.leave(),
    // Called before Node prints an error that nobody caught, of a promise too, and ends with status 1.
    uncaughtExceptionMonitor: () => screen.leave(),
    SIGTSTP: () => screen.suspend(),
    SIGCONT() {
      // Of a size that changed meanwhile the kernel told only those who had the terminal; Node looks when it is told.
      process.emit("SIGWINCH", "SIGWINCH");
      screen.resume();
    },
    // Not the stream's own `resize`: where two changes come as one signal and cancel out it tells of none.
    SIGWINCH: () => screen.windowChanged(),
    SIGHUP: () => screen.hangUp(),
  } as const;
  const entries = Object.entries(handlers);
  for (const [event, handler] of entries) process.on(event, handler);
  return () => {
    for (const [event, handler] of entries) process.off(event, handler);
  };
}
