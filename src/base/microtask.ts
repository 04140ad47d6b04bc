const RESOLVED = Promise.resolve();

/** Runs `work` as a microtask. Cheaper than `queueMicrotask`, which creates a resource for `async_hooks` each time. */
export const runMicrotask = (work: () => void): void => void RESOLVED.then(work);
