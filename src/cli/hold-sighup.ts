/**
 * SIGHUP ends a process that does not listen for it. The daemon's program takes a fifth of a second to load, so a listener is
 * set before that, and keeps the signal until the daemon can reload. Source: design decisions, section 5.
 */

export interface HeldSighup {
  /** Called from here on, and at once for those that came before. Returns the way to end it. */
  pass(listener: () => void): () => void;
  /** For a process that has nothing to reload: SIGHUP ends it. True: one came before, and it is to end now. */
  letThrough(): boolean;
}

export function holdSighup(): HeldSighup {
  let isWaiting = false;
  const keep = (): void => {
    isWaiting = true;
  };
  process.on("SIGHUP", keep);
  return {
    pass(listener) {
      process.on("SIGHUP", listener);
      process.off("SIGHUP", keep);
      if (isWaiting) listener();
      return () => process.off("SIGHUP", listener);
    },
    letThrough() {
      process.off("SIGHUP", keep);
      return isWaiting;
    },
  };
}
