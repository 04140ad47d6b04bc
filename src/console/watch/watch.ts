/**
 * Watch: keeps the needs of the screen up to date, each by its own read, over the endpoint that answers. It reports immutable
 * data, the state of the connection, and messages for the log, and reads nothing that is not needed. Source: design decisions,
 * section 3; operator console reference, B3.
 */

import type { AdminClient } from "../../admin-api/index.ts";
import { type Data, keyOf, type Need, type ReadableId } from "../model/data.ts";
import type { ConsoleEndpoint, ConsolePorts } from "../model/ports.ts";
import type { Link } from "../model/state.ts";
import { createLink } from "./endpoint-link.ts";
import type { Session } from "./endpoint-session.ts";
import { READ_INTERVALS, type ReadIntervals } from "./intervals.ts";
import { createLeaderNotes } from "./leader-notes.ts";
import { isLocal, watchLocal } from "./local-trials.ts";
import { createNotifier, type Notifier } from "./pause.ts";
import { PLAIN, type PlainId, tableOfList } from "./read-rules.ts";
import { createReadingStore, type Entry } from "./readings.ts";
import { watchList, watchPlain } from "./repeated-read.ts";
import { createScraper } from "./scraper.ts";

export interface WatchOptions {
  /** Admin endpoints in the order in which they are tried. */
  readonly endpoints: readonly [ConsoleEndpoint, ...ConsoleEndpoint[]];
  readonly metricsUrl?: string;
  readonly scrape: ConsolePorts["scrape"];
  readonly documents: ConsolePorts["documents"];
  /** Returns the time in milliseconds since 1970. */
  now(): number;
  /**
   * Called at most once per turn of the event loop, and at most twenty times a second. An unchanged reading is the same object as
   * before.
   */
  onData(data: Data): void;
  onLink(link: Link): void;
  /** Messages for the flash line and `:log`: another leader, another endpoint. */
  onNote(text: string): void;
  /** Closes the watch. */
  readonly signal: AbortSignal;
  readonly intervals?: Partial<ReadIntervals>;
}

export interface Watch {
  /** Sets the needs to keep up to date. The values of former needs are kept for a minute. */
  need(needs: readonly Need[]): void;
  /** Cancels the local computation of that need until it is requested again. */
  stop(need: Need): void;
  /** Reads everything again now, including forbidden reads and after a 401. */
  refresh(): void;
  nextEndpoint(): void;
  /** Returns the client of the current endpoint; the watch closes it. */
  client(): AdminClient;
  link(): Link;
  /** Resolves once all work has ended. */
  close(): Promise<void>;
}

interface Reader {
  readonly id: ReadableId;
  readonly follows: ReadableId | undefined;
  readonly ending: AbortController;
  readonly notifier: Notifier;
}

export function createWatch(options: WatchOptions): Watch {
  const { endpoints, now, onData, onLink, onNote } = options;
  const intervals: ReadIntervals = { ...READ_INTERVALS, ...options.intervals };
  const readings = createReadingStore({ intervals, now, onData });
  const scraper = createScraper({ url: options.metricsUrl, intervals, scrape: options.scrape, now });
  const noteLeader = createLeaderNotes(onNote);
  const readers = new Map<string, Reader>();
  const running = new Set<Promise<void>>();
  let neededKeys: ReadonlySet<string> = new Set();
  let session: Session | undefined;
  let client: AdminClient | undefined;
  let closing: Promise<void> | undefined;

  function start(entry: Entry): void {
    const { need } = entry;
    const key = keyOf(need);
    if (closing !== undefined || readers.has(key)) return;
    const reader: Reader = {
      id: need.id,
      follows: isPlain(need) ? PLAIN[need.id].follows : isLocal(need) ? "list_sources" : undefined,
      ending: new AbortController(),
      notifier: createNotifier(),
    };
    const work = startRead(entry, reader);
    if (work === undefined) return;
    readers.set(key, reader);
    running.add(work);
    void work.finally(() => running.delete(work));
  }

  function startRead(entry: Entry, { ending: { signal }, notifier }: Reader): Promise<void> | undefined {
    const { need } = entry;
    if (isMetrics(need)) return scraper.watchMetrics(entry, signal);
    if (session === undefined || entry.isForbidden) return undefined;
    const common = { entry, session, intervals, signal, now };
    const table = tableOfList(need.id);
    if (table !== undefined) return watchList(table, { ...common, onChange: () => notifyFollowersOf(need.id) });
    if (isLocal(need)) return watchLocal({ ...common, need, notifier, ports: options.documents });
    const isStatus = need.id === "get_status";
    const onValue = (value: unknown): void => (isStatus ? noteLeader(value) : undefined);
    return isPlain(need) ? watchPlain({ ...common, need, notifier, onValue }) : undefined;
  }

  function notifyFollowersOf(list: ReadableId): void {
    for (const { follows, notifier } of readers.values()) if (follows === list) notifier.notify();
  }

  function end(key: string): void {
    readers.get(key)?.ending.abort();
    readers.delete(key);
  }

  const endpoint = createLink({
    endpoints,
    intervals,
    now,
    onLink,
    onNote,
    onAnswer: () => readings.markFresh(),
    onSession(opened) {
      session = opened;
      // Another endpoint may permit what this one forbids.
      if (client !== undefined && client !== opened.peer.client) readings.clearForbidden();
      ({ client } = opened.peer);
      opened.signal.addEventListener(
        "abort",
        () => {
          session = undefined;
          for (const [key, { id }] of readers) if (id !== "metrics") end(key);
        },
        { once: true },
      );
      for (const entry of readings.entries()) start(entry);
    },
  });

  function close(): Promise<void> {
    options.signal.removeEventListener("abort", close);
    closing ??= (async () => {
      readings.close();
      for (const key of [...readers.keys()]) end(key);
      await endpoint.close();
      await Promise.all(running);
    })();
    return closing;
  }

  options.signal.addEventListener("abort", close, { once: true });
  if (options.signal.aborted) void close();

  return {
    need(needs) {
      if (closing !== undefined) return;
      const wanted = new Map(needs.map((need) => [keyOf(need), need]));
      for (const key of neededKeys) {
        if (wanted.has(key)) continue;
        end(key);
        readings.release(key);
      }
      for (const [key, need] of wanted) if (!neededKeys.has(key)) start(readings.acquire(need));
      neededKeys = new Set(wanted.keys());
    },
    stop(need) {
      const key = keyOf(need);
      if (!readers.has(key)) return;
      end(key);
      readings.acquire(need).markStopped();
    },
    refresh() {
      for (const entry of readings.entries()) entry.clearFailure();
      endpoint.refresh();
    },
    nextEndpoint: () => endpoint.nextEndpoint(),
    client: () => endpoint.client(),
    link: () => endpoint.link(),
    close,
  };
}

const isMetrics = ({ id }: Need): boolean => id === "metrics";
const isPlain = (need: Need): need is Need<PlainId> => Object.hasOwn(PLAIN, need.id);
