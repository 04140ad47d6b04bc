/**
 * Handles process events while the console has the terminal, so that the terminal is always restored. SIGINT and
 * SIGTERM reach the console through the abort signal, as for any other command.
 */

import type { Screen } from "./terminal-screen.ts";

/** Installs the handlers. Returns a function that removes them. */
export function guardTerminal(screen: Screen): () => void {
  const handlers = {
    exit: () => screen.leave(),
    // Called before Node prints an uncaught error or rejection and exits with status 1.
    uncaughtExceptionMonitor: () => screen.leave(),
    SIGTSTP: () => screen.suspend(),
    SIGCONT() {
      // The kernel reported a size change only to the process that had the terminal; this event makes Node check it.
      process.emit("SIGWINCH", "SIGWINCH");
      screen.resume();
    },
    // The stream's own `resize` is not emitted if two changes arrive as one signal and cancel out.
    SIGWINCH: () => screen.windowChanged(),
    SIGHUP: () => screen.hangUp(),
  } as const;
  const entries = Object.entries(handlers);
  for (const [event, handler] of entries) process.on(event, handler);
  return () => {
    for (const [event, handler] of entries) process.off(event, handler);
  };
}
