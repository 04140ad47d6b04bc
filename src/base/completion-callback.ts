/** Completion callbacks, for hot paths where a promise for each piece of work costs too much. */

/** Callback that is called once, when the work has ended. `error`: reason of a failure. */
export type CompletionCallback = (error?: unknown) => void;

export const awaitCompletion = (work: (done: CompletionCallback) => void): Promise<void> =>
  new Promise((resolve, reject) => {
    work((error) => (error === undefined ? resolve() : reject(error)));
  });
