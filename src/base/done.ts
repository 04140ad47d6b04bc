/** Work that tells that it is over by a call, for where a promise for each piece of it costs too much. */

/** Told once. `error`: what the work failed with. */
export type Done = (error?: unknown) => void;

export const untilDone = (work: (done: Done) => void): Promise<void> =>
  new Promise((resolve, reject) => {
    work((error) => (error === undefined ? resolve() : reject(error)));
  });
