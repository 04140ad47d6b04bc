/**
 * Choice of the admin endpoint and its availability. The first endpoint that answers is used. When it stops answering, the
 * others are tried immediately, one after the other; if none answers, all are retried, soon every two seconds.
 *
 * `link().endpoint` and `client()` always belong to the same endpoint. The client of an abandoned endpoint is closed.
 */

import { type AdminClient, createAdminClient } from "../../admin-api/index.ts";
import { pause, systemClock } from "../../base/index.ts";
import type { Failure } from "../model/data.ts";
import type { ConsoleEndpoint } from "../model/ports.ts";
import type { Link } from "../model/state.ts";
import { probe } from "./endpoint-probe.ts";
import { openSession, type Session, type SessionEnd } from "./endpoint-session.ts";
import { type ReadIntervals, waitAfter } from "./intervals.ts";

interface LinkOptions {
  readonly endpoints: readonly [ConsoleEndpoint, ...ConsoleEndpoint[]];
  readonly intervals: ReadIntervals;
  now(): number;
  onLink(link: Link): void;
  onNote(text: string): void;
  /** Called when the current endpoint answers: reads may begin. They end with the session's signal. */
  onSession(session: Session): void;
  onAnswer(): void;
}

interface EndpointLink {
  link(): Link;
  client(): AdminClient;
  /** Reads everything again, and retries immediately if no endpoint answers. */
  refresh(): void;
  nextEndpoint(): void;
  /** Resolves once all work has ended. */
  close(): Promise<void>;
}

type Command = "refresh" | "next_endpoint";

interface SearchPlan {
  /** Indices of admin endpoints, in the order in which they are tried. */
  readonly order: readonly number[];
  /** True if the operator asked for another endpoint, so that none has failed. */
  readonly isRequested: boolean;
}

type SearchResult =
  | { readonly kind: "answered"; readonly identity: string | undefined }
  | { readonly kind: "signed_out"; readonly failure: Failure }
  | { readonly kind: "none"; readonly failure: Failure }
  | { readonly kind: "interrupted" };

export function createLink({
  endpoints,
  intervals,
  now,
  onLink,
  onNote,
  onSession,
  onAnswer,
}: LinkOptions): EndpointLink {
  const { monotonic } = systemClock;
  const [first] = endpoints;
  let at = 0;
  let client = createAdminClient({ address: first.endpoint });
  let state: Link["state"] = { kind: "connecting" };
  let session: Session | undefined;
  let servedMs = 0;
  let command: Command | undefined;
  /** Aborts the current probe or wait. */
  let interruption = new AbortController();
  /** True while a probe or a session is running or about to start, so that a refresh is unnecessary. */
  let isStarting = false;
  let isClosed = false;
  /** Number of consecutive rounds over all endpoints in which none answered or kept answering. */
  let failedRounds = 0;
  /**
   * True if the other endpoints were tried immediately since the last sound one: two failing endpoints must not alternate without
   * a wait.
   */
  let hasRetriedAtOnce = false;
  let since: number | undefined;

  const endpointAt = (index: number): ConsoleEndpoint => endpoints[index] ?? first;
  const link = (): Link => ({ endpoint: endpointAt(at), endpoints: endpoints.length, state });
  /** Returns the indices of all endpoints, beginning with that one. */
  const orderFrom = (index: number): readonly number[] => endpoints.map((_, step) => (index + step) % endpoints.length);

  function setState(to: Link["state"]): void {
    if (isClosed || (to.kind === state.kind && to.kind !== "offline")) return;
    state = to;
    onLink(link());
  }

  function runCommand(what: Command): void {
    if (session !== undefined && !session.signal.aborted) session.end({ kind: what });
    else if (what === "next_endpoint" || !isStarting) {
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

  function planFor(what: Command | undefined, startIndex: number): SearchPlan {
    return what === "next_endpoint"
      ? { order: orderFrom(at + 1), isRequested: true }
      : { order: orderFrom(startIndex), isRequested: false };
  }

  async function findEndpoint({ order, isRequested }: SearchPlan): Promise<SearchResult> {
    const { signal } = interruption;
    let failure: Failure | undefined;
    isStarting = true;
    try {
      for (const next of order) {
        const { endpoint } = endpointAt(next);
        const candidate = next === at ? client : createAdminClient({ address: endpoint });
        const found = await probe({ client: candidate, endpoint }, { signal, intervals, now });
        if (found.kind === "answered" || found.kind === "signed_out") {
          if (next !== at) switchTo(next, candidate, isRequested);
          else if (isRequested) onNote(`no other gateway answers; still connected to ${endpointAt(at).name}`);
          return found;
        }
        if (next !== at) candidate.close();
        if (found.kind === "ended") break;
        failure = found.failure;
      }
    } finally {
      isStarting = false;
    }
    return failure === undefined || signal.aborted ? { kind: "interrupted" } : { kind: "none", failure };
  }

  function switchTo(next: number, newClient: AdminClient, isRequested: boolean): void {
    const { name } = endpointAt(at);
    client.close();
    client = newClient;
    at = next;
    // The note is sent last, so that its message, which has the reason, stays on the screen.
    onLink(link());
    onNote(
      isRequested
        ? `connected to ${endpointAt(at).name}`
        : `${name} does not answer; connected to ${endpointAt(at).name}`,
    );
  }

  /** Runs the session until the endpoint is lost or another one is requested. */
  async function runSessions(identity: string | undefined): Promise<Exclude<SessionEnd, { readonly kind: "refresh" }>> {
    const servingSince = monotonic();
    since = undefined;
    takeCommand();
    while (!isClosed) {
      const openedAt = monotonic();
      const ending = await runSession();
      servedMs = monotonic() - servingSince;
      if (ending.kind !== "refresh") return ending;
      isStarting = true;
      await pause(openedAt + intervals.pauseMs - monotonic(), interruption.signal);
      isStarting = false;
      if (takeCommand() === "next_endpoint") return { kind: "next_endpoint" };
    }
    return { kind: "closed" };

    async function runSession(): Promise<SessionEnd> {
      const peer = { client, endpoint: endpointAt(at).endpoint };
      session = openSession({
        peer,
        intervals,
        identity,
        async probe(signal) {
          const found = await probe(peer, { signal, intervals, now });
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

  /** Decides which endpoints to try next, and resolves when it is time. */
  async function planRetry(failure: Failure): Promise<SearchPlan> {
    if (servedMs >= intervals.stableMs) {
      failedRounds = 0;
      hasRetriedAtOnce = false;
    }
    const wasServing = servedMs > 0;
    servedMs = 0;
    if (wasServing && !hasRetriedAtOnce && endpoints.length > 1) {
      hasRetriedAtOnce = true;
      setState({ kind: "connecting" });
      return { order: orderFrom(at).slice(1), isRequested: false };
    }
    const waitMs = waitAfter(failedRounds, intervals.reconnectMs);
    failedRounds += 1;
    since ??= failure.at;
    setState({ kind: "offline", since, retryAt: now() + waitMs, failure });
    await pause(waitMs, interruption.signal);
    return planFor(takeCommand(), 0);
  }

  async function run(): Promise<void> {
    let plan: SearchPlan = { order: orderFrom(0), isRequested: false };
    while (!isClosed) {
      const found = await findEndpoint(plan);
      const ending = found.kind === "answered" ? await runSessions(found.identity) : found;
      switch (ending.kind) {
        case "closed":
          return;
        case "next_endpoint":
          servedMs = 0;
          setState({ kind: "connecting" });
          plan = planFor(ending.kind, at);
          break;
        case "interrupted":
          plan = planFor(takeCommand(), at);
          break;
        case "signed_out":
          setState(ending);
          await waitForCommand();
          setState({ kind: "connecting" });
          plan = planFor(takeCommand(), at);
          break;
        case "lost":
        case "none":
          plan = await planRetry(ending.failure);
          break;
        default:
          ending satisfies never;
      }
    }
  }

  function waitForCommand(): Promise<void> {
    const { signal } = interruption;
    if (signal.aborted) return Promise.resolve();
    return new Promise((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
  }

  const running = run();
  return {
    link,
    client: () => client,
    refresh: () => runCommand("refresh"),
    nextEndpoint() {
      if (endpoints.length > 1) return runCommand("next_endpoint");
      onNote("only one gateway is configured");
      runCommand("refresh");
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
