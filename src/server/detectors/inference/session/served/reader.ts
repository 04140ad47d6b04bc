/**
 * Reader of a detector over a graph on a server: opened at the first read, opened again after a failure, and once more
 * if the model has changed.
 */

import type { OpenedReader, ReadTexts } from "../graph-reader.ts";
import { ModelChanged } from "../graph-reader.ts";
import { GraphError } from "../graph-shapes.ts";

/** Time that a mismatch is remembered, in milliseconds, so that not every text queries the server. */
const REFUSED_FOR_MS = 10_000;

/** Creates the reader. `open` queries the server again. `now` returns milliseconds from any origin. */
export function createServedReader(open: () => Promise<OpenedReader>, now: () => number): ReadTexts {
  let opened: Promise<ReadTexts> | undefined;
  let refused: { readonly error: GraphError; readonly until: number } | undefined;
  const opening = (): Promise<ReadTexts> => {
    if (refused !== undefined && now() < refused.until) throw refused.error;
    if (opened !== undefined) return opened;
    const own = open().then((reader) => {
      if (reader.kind === "opened") return reader.read;
      throw new GraphError(reader.problem.key, reader.problem.message);
    });
    opened = own;
    own.catch((error: unknown) => {
      forget(own);
      if (error instanceof GraphError) refused = { error, until: now() + REFUSED_FOR_MS };
    });
    return own;
  };
  /** Forgets an opened reader, unless another caller has already replaced it. */
  const forget = (own: Promise<ReadTexts>): void => {
    if (opened === own) opened = undefined;
  };
  return async (texts, signal) => {
    for (let isSecond = false; ; isSecond = true) {
      const own = opening();
      try {
        return await (await raced(own, signal))(texts, signal);
      } catch (error) {
        if (!(error instanceof ModelChanged)) throw error;
        forget(own);
        if (isSecond) throw error;
      }
    }
  };
}

/** Resolves with the work or rejects on abort. The work continues, since other callers wait for it. */
function raced<Result>(work: Promise<Result>, signal: AbortSignal): Promise<Result> {
  signal.throwIfAborted();
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(signal.reason as Error);
    signal.addEventListener("abort", onAbort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", onAbort));
  });
}
