/** A watch with all of its reports, and waits for later ones. It is closed with its owner. */
import type { Data } from "../../../../src/console/model/data.ts";
import type { ConsoleEndpoint } from "../../../../src/console/model/ports.ts";
import type { Link } from "../../../../src/console/model/state.ts";
import { createWatch, type Watch, type WatchOptions } from "../../../../src/console/watch/watch.ts";
import { atEnd, eventually, type Owner } from "../../../e2e/support/wait.ts";

export interface Watching extends Watch {
  readonly data: readonly Data[];
  readonly links: readonly Link[];
  readonly notes: readonly string[];
  /** Resolves with the first data that satisfies `look`. */
  sees<T>(what: string, look: (data: Data) => T | undefined | false, limitMs?: number): Promise<T>;
  becomes(kind: Link["state"]["kind"], limitMs?: number): Promise<Link["state"]>;
}

type Options = Partial<Pick<WatchOptions, "metricsUrl" | "scrape" | "documents" | "intervals" | "signal">>;

const noScrape = (): Promise<never> => Promise.reject(new Error("no page"));

export function startWatch(
  owner: Owner,
  endpoints: readonly [ConsoleEndpoint, ...ConsoleEndpoint[]],
  { intervals = {}, ...options }: Options = {},
): Watching {
  const data: Data[] = [];
  const links: Link[] = [];
  const notes: string[] = [];
  const watch = createWatch({
    endpoints,
    scrape: noScrape,
    documents: {
      packs: noScrape,
      tryPack: noScrape,
      tryThreshold: noScrape,
      withRaisedVersion: noScrape,
      stampOf: noScrape,
      sweep: noScrape,
      write: noScrape,
    },
    now: () => Date.now(),
    onData: (it) => data.push(it),
    onLink: (it) => links.push(it),
    onNote: (it) => notes.push(it),
    signal: new AbortController().signal,
    intervals,
    ...options,
  });
  atEnd(owner, () => watch.close());
  return {
    ...watch,
    data,
    links,
    notes,
    sees: (what, look, limitMs) =>
      eventually(
        what,
        () => {
          const newest = data.at(-1);
          return newest === undefined ? undefined : look(newest);
        },
        limitMs,
      ),
    becomes: (kind, limitMs) =>
      eventually(
        `the link being ${kind}`,
        () => {
          const { state } = watch.link();
          return state.kind === kind && state;
        },
        limitMs,
      ),
  };
}

/** Short enough for a test, and long enough to distinguish their order. */
export const QUICK = {
  pauseMs: 20,
  followMs: 40,
  pollMs: 200,
  rarePollMs: 400,
  backoffMs: [30, 60, 120, 240, 300],
  reconnectMs: [30, 60, 90],
  reportMs: 5,
  freshnessMs: 10,
} as const;
