/**
 * Keeps SIGHUP from ending the process while the daemon loads. By default SIGHUP ends a process, and loading takes a
 * fifth of a second. So a listener is set first, and a signal that arrives is kept until the daemon can reload. Source:
 * design decisions, section 5.
 */

export interface HeldSighup {
  /**
   * Calls `listener` for each further SIGHUP, and at once if one arrived before. Returns a function that removes the
   * listener.
   */
  forwardTo(listener: () => void): () => void;
  /**
   * Restores the default, for a process that cannot reload. Returns true if a SIGHUP arrived before, so the caller must
   * exit.
   */
  restoreDefault(): boolean;
}

export function holdSighup(): HeldSighup {
  let isPending = false;
  const onSighup = (): void => {
    isPending = true;
  };
  process.on("SIGHUP", onSighup);
  return {
    forwardTo(listener) {
      process.on("SIGHUP", listener);
      process.off("SIGHUP", onSighup);
      if (isPending) listener();
      return () => process.off("SIGHUP", listener);
    },
    restoreDefault() {
      process.off("SIGHUP", onSighup);
      return isPending;
    },
  };
}
