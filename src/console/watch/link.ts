/**
 * Which door is in use, and whether it answers. The first of the doors that answers is used; when it no longer does, the
 * others are tried at once, one after the other; when none does, all are tried again and again, soon every two seconds.
 *
 * `link().door` and `client()` are always of one door. A door that is given up for another has its client closed.
 */

import { type AdminClient, createAdminClient } from "../../admin-api/index.ts";
import { pause, systemClock } from "../../base/index.ts";
import type { Failure } from "../model/data.ts";
import type { ConsoleDoor } from "../model/ports.ts";
import type { Link } from "../model/state.ts";
import { type Pace, waitAfter } from "./pace.ts";
import { probe } from "./probe.ts";
import { type Ending, openSession, type Session } from "./session.ts";

export interface LinkOptions {
  readonly doors: readonly [ConsoleDoor, ...ConsoleDoor[]];
  readonly pace: Pace;
  now(): number;
  onLink(link: Link): void;
  onNote(words: string): void;
  /** The door in use answers: reads may begin. They end with the session's signal. */
  onSession(session: Session): void;
  onAnswer(): void;
}

export interface DoorLink {
  link(): Link;
  client(): AdminClient;
  /** Reads all anew, and tries at once where no door answers. */
  refresh(): void;
  nextDoor(): void;
  /** Resolves once nothing is under way. */
  close(): Promise<void>;
}

type Command = "refresh" | "next_door";

interface Plan {
  /** Indices of doors, in the order in which they are tried. */
  readonly order: readonly number[];
  /** The operator wants another door; none has failed. */
  readonly isWanted: boolean;
}

type Found =
  | { readonly kind: "answered"; readonly identity: string | undefined }
  | { readonly kind: "signed_out"; readonly failure: Failure }
  | { readonly kind: "none"; readonly failure: Failure }
  | { readonly kind: "interrupted" };

export function createLink({ doors, pace, now, onLink, onNote, onSession, onAnswer }: LinkOptions): DoorLink {
  const { monotonic } = systemClock;
  const [first] = doors;
  let at = 0;
  let client = createAdminClient({ door: first.door });
  let state: Link["state"] = { kind: "connecting" };
  let session: Session | undefined;
  let servedMs = 0;
  let command: Command | undefined;
  /** Of the probe or wait under way. */
  let interruption = new AbortController();
  /** A probe or a session is under way or next, so that a refresh has nothing to add. */
  let isAboutTo = false;
  let isClosed = false;
  /** Rounds over all doors, in a row, in which none answered or none went on answering. */
  let rounds = 0;
  /** Whether the other doors were tried at once since a door was last sound: two sick doors must not pass us on. */
  let hasHurried = false;
  let since: number | undefined;

  const doorAt = (index: number): ConsoleDoor => doors[index] ?? first;
  const link = (): Link => ({ door: doorAt(at), doors: doors.length, state });
  /** All doors, from that one on. */
  const from = (index: number): readonly number[] => doors.map((_, step) => (index + step) % doors.length);

  function setState(to: Link["state"]): void {
    if (isClosed || (to.kind === state.kind && to.kind !== "offline")) return;
    state = to;
    onLink(link());
  }

  function obey(what: Command): void {
    if (session !== undefined && !session.signal.aborted) session.end({ kind: what });
    else if (what === "next_door" || !isAboutTo) {
      command = what;
      interruption.abort();
    }
  }

  function takeCommand(): Command | undefined {
    const taken = command;
    command = undefined;
    if (!isClosed) interruption = new AbortController();
    return taken;
  }

  function planOf(what: Command | undefined, whereFrom: number): Plan {
    return what === "next_door" ? { order: from(at + 1), isWanted: true } : { order: from(whereFrom), isWanted: false };
  }

  async function seek({ order, isWanted }: Plan): Promise<Found> {
    const { signal } = interruption;
    let failure: Failure | undefined;
    isAboutTo = true;
    try {
      for (const next of order) {
        const { door } = doorAt(next);
        const candidate = next === at ? client : createAdminClient({ door });
        const found = await probe({ client: candidate, door }, { signal, pace, now });
        if (found.kind === "answered" || found.kind === "signed_out") {
          if (next !== at) use(next, candidate, isWanted);
          else if (isWanted) onNote(`no other door answers; still at ${doorAt(at).name}`);
          return found;
        }
        if (next !== at) candidate.close();
        if (found.kind === "ended") break;
        failure = found.failure;
      }
    } finally {
      isAboutTo = false;
    }
    return failure === undefined || signal.aborted ? { kind: "interrupted" } : { kind: "none", failure };
  }

  function use(next: number, its: AdminClient, isWanted: boolean): void {
    const { name } = doorAt(at);
    client.close();
    client = its;
    at = next;
    // The note last: it says why as well, and is what stays on the screen.
    onLink(link());
    onNote(isWanted ? `now at ${doorAt(at).name}` : `${name} does not answer; now at ${doorAt(at).name}`);
  }

  /** Until the door is lost, or another one wanted. */
  async function serve(identity: string | undefined): Promise<Exclude<Ending, { readonly kind: "refresh" }>> {
    const begunAt = monotonic();
    since = undefined;
    takeCommand();
    while (!isClosed) {
      const openedAt = monotonic();
      const ending = await serveOnce();
      servedMs = monotonic() - begunAt;
      if (ending.kind !== "refresh") return ending;
      isAboutTo = true;
      await pause(openedAt + pace.restMs - monotonic(), interruption.signal);
      isAboutTo = false;
      if (takeCommand() === "next_door") return { kind: "next_door" };
    }
    return { kind: "closed" };

    async function serveOnce(): Promise<Ending> {
      const peer = { client, door: doorAt(at).door };
      session = openSession({
        peer,
        pace,
        identity,
        async probe(signal) {
          const found = await probe(peer, { signal, pace, now });
          if (found.kind === "answered") identity = found.identity;
          return found;
        },
        onAnswer,
      });
      const { ended } = session;
      setState({ kind: "online" });
      onAnswer();
      onSession(session);
      const ending = await ended;
      session = undefined;
      return ending;
    }
  }

  /** What is tried after that, and when: resolves once it is time. */
  async function recover(failure: Failure): Promise<Plan> {
    if (servedMs >= pace.soundMs) {
      rounds = 0;
      hasHurried = false;
    }
    const wasServing = servedMs > 0;
    servedMs = 0;
    if (wasServing && !hasHurried && doors.length > 1) {
      hasHurried = true;
      setState({ kind: "connecting" });
      return { order: from(at).slice(1), isWanted: false };
    }
    const waitMs = waitAfter(rounds, pace.reconnectMs);
    rounds += 1;
    since ??= failure.at;
    setState({ kind: "offline", since, retryAt: now() + waitMs, failure });
    await pause(waitMs, interruption.signal);
    return planOf(takeCommand(), 0);
  }

  async function run(): Promise<void> {
    let plan: Plan = { order: from(0), isWanted: false };
    while (!isClosed) {
      const found = await seek(plan);
      const ending = found.kind === "answered" ? await serve(found.identity) : found;
      switch (ending.kind) {
        case "closed":
          return;
        case "next_door":
          servedMs = 0;
          setState({ kind: "connecting" });
          plan = planOf(ending.kind, at);
          break;
        case "interrupted":
          plan = planOf(takeCommand(), at);
          break;
        case "signed_out":
          setState(ending);
          await commanded();
          setState({ kind: "connecting" });
          plan = planOf(takeCommand(), at);
          break;
        case "lost":
        case "none":
          plan = await recover(ending.failure);
          break;
        default:
          ending satisfies never;
      }
    }
  }

  function commanded(): Promise<void> {
    const { signal } = interruption;
    if (signal.aborted) return Promise.resolve();
    return new Promise((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
  }

  const running = run();
  return {
    link,
    client: () => client,
    refresh: () => obey("refresh"),
    nextDoor() {
      if (doors.length > 1) return obey("next_door");
      onNote("there is no other door");
      obey("refresh");
    },
    async close() {
      isClosed = true;
      interruption.abort();
      session?.end({ kind: "closed" });
      client.close();
      await running;
    },
  };
}
