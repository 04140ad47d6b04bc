/**
 * Keeps what the screen needs up to date: each thing by a read of its own, over the door that answers. It hands out data
 * that never changes, how the console stands to the gateway, and what is worth a line in the log; it asks for nothing that
 * nobody needs. Source: design decisions, section 3; operator console reference, B3.
 */

import type { AdminClient } from "../../admin-api/index.ts";
import { type Data, keyOf, type Need, type ReadableId } from "../model/data.ts";
import type { ConsoleDoor, ConsolePorts } from "../model/ports.ts";
import type { Link } from "../model/state.ts";
import { isLocal, keepLocal } from "./documents.ts";
import { createLeaderNotes } from "./leader.ts";
import { createLink } from "./link.ts";
import { PACE, type Pace } from "./pace.ts";
import { type Bell, createBell } from "./pause.ts";
import { PLAIN, type PlainId, tableOfList } from "./readables.ts";
import { keepList, keepPlain } from "./reader.ts";
import { createReadings, type Entry } from "./readings.ts";
import { createScraper } from "./scraper.ts";
import type { Session } from "./session.ts";

export interface WatchOptions {
  /** In the order in which they are tried. */
  readonly doors: readonly [ConsoleDoor, ...ConsoleDoor[]];
  readonly metricsUrl?: string;
  readonly scrape: ConsolePorts["scrape"];
  readonly documents: ConsolePorts["documents"];
  /** Milliseconds since 1970. */
  now(): number;
  /** At most once a turn, and twenty times a second. A reading that did not change is the same object as before. */
  onData(data: Data): void;
  onLink(link: Link): void;
  /** For the flash line and `:log`: another leader, another door. */
  onNote(words: string): void;
  /** Closes it. */
  readonly signal: AbortSignal;
  readonly pace?: Partial<Pace>;
}

export interface Watch {
  /** Exactly these are kept from now on. What the others came to stays for a minute. */
  need(needs: readonly Need[]): void;
  /** Ends what is worked out for that need, until it is asked for anew. */
  stop(need: Need): void;
  /** Reads all again now, also what is forbidden, and after a 401. */
  refresh(): void;
  nextDoor(): void;
  /** Of the door in use; the watch closes it. */
  client(): AdminClient;
  link(): Link;
  /** Resolves once nothing is under way. */
  close(): Promise<void>;
}

interface Reader {
  readonly id: ReadableId;
  readonly follows: ReadableId | undefined;
  readonly ending: AbortController;
  readonly bell: Bell;
}

export function createWatch(options: WatchOptions): Watch {
  const { doors, now, onData, onLink, onNote } = options;
  const pace: Pace = { ...PACE, ...options.pace };
  const readings = createReadings({ pace, now, onData });
  const scraper = createScraper({ url: options.metricsUrl, pace, scrape: options.scrape, now });
  const noteLeader = createLeaderNotes(onNote);
  const readers = new Map<string, Reader>();
  const underWay = new Set<Promise<void>>();
  let needed: ReadonlySet<string> = new Set();
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
      bell: createBell(),
    };
    const work = workOf(entry, reader);
    if (work === undefined) return;
    readers.set(key, reader);
    underWay.add(work);
    void work.finally(() => underWay.delete(work));
  }

  function workOf(entry: Entry, { ending: { signal }, bell }: Reader): Promise<void> | undefined {
    const { need } = entry;
    if (isMetrics(need)) return scraper.keep(entry, signal);
    if (session === undefined || entry.isForbidden) return undefined;
    const common = { entry, session, pace, signal, now };
    const table = tableOfList(need.id);
    if (table !== undefined) return keepList(table, { ...common, onChange: () => ringFollowersOf(need.id) });
    if (isLocal(need)) return keepLocal({ ...common, need, bell, ports: options.documents });
    const isStatus = need.id === "get_status";
    const onValue = (value: unknown): void => (isStatus ? noteLeader(value) : undefined);
    return isPlain(need) ? keepPlain({ ...common, need, bell, onValue }) : undefined;
  }

  function ringFollowersOf(list: ReadableId): void {
    for (const { follows, bell } of readers.values()) if (follows === list) bell.ring();
  }

  function end(key: string): void {
    readers.get(key)?.ending.abort();
    readers.delete(key);
  }

  const door = createLink({
    doors,
    pace,
    now,
    onLink,
    onNote,
    onAnswer: () => readings.touch(),
    onSession(opened) {
      session = opened;
      // What one door forbids, another may permit.
      if (client !== undefined && client !== opened.peer.client) readings.forgiveForbidden();
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
      await door.close();
      await Promise.all(underWay);
    })();
    return closing;
  }

  options.signal.addEventListener("abort", close, { once: true });
  if (options.signal.aborted) void close();

  return {
    need(needs) {
      if (closing !== undefined) return;
      const wanted = new Map(needs.map((need) => [keyOf(need), need]));
      for (const key of needed) {
        if (wanted.has(key)) continue;
        end(key);
        readings.leave(key);
      }
      for (const [key, need] of wanted) if (!needed.has(key)) start(readings.take(need));
      needed = new Set(wanted.keys());
    },
    stop(need) {
      const key = keyOf(need);
      if (!readers.has(key)) return;
      end(key);
      readings.take(need).stopped();
    },
    refresh() {
      for (const entry of readings.entries()) entry.forgive();
      door.refresh();
    },
    nextDoor: () => door.nextDoor(),
    client: () => door.client(),
    link: () => door.link(),
    close,
  };
}

const isMetrics = ({ id }: Need): boolean => id === "metrics";
const isPlain = (need: Need): need is Need<PlainId> => Object.hasOwn(PLAIN, need.id);
