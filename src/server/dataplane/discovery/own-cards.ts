/**
 * Cache of the cards that agents publish. A valid card is fresh for five minutes, and is shown for up to a day while its agent
 * cannot be reached. A failed fetch is repeated after ten seconds at the earliest. Concurrent callers share one request.
 * Source: a2a reference, 8.
 */
import { asRefusal, type FetchShared, fetchUnshared, GatewayError, type Log } from "../../../base/index.ts";
import { buildPublishedCard, type CardReading, type CardTerms, readOwnCard } from "../../core/agents/index.ts";
import {
  type FrontedServer,
  fetchDocument,
  type Origins,
  type PresentedCredential,
  type Presenter,
} from "../../upstream/index.ts";

const FRESH_MS = 5 * 60_000;
const STALE_MS = 24 * 60 * 60_000;
const RETRY_MS = 10_000;
const FETCH_LIMIT_MS = 10_000;

export type Projected = Extract<CardReading, { kind: "card" }>["card"];

export interface OwnCards {
  /** Returns the agent's card as the gateway shows it. Rejects with `upstream_unreachable` or `unsupported_version`. */
  of(agent: FrontedServer, publicUrl: string, terms: CardTerms): Promise<Projected>;
  /** Drops the cards of all other agents. */
  keepOnly(agents: readonly FrontedServer[]): void;
}

interface OwnCardsOptions {
  readonly origins: Pick<Origins, "pool">;
  readonly presenter: Pick<Presenter, "present">;
  /** Returns the time of the monotonic clock, in milliseconds. */
  readonly now: () => number;
  readonly log: Pick<Log, "warn">;
  /** Fetch that processes share; absent if this process fetches alone. */
  readonly fetchShared?: FetchShared;
}

interface Kept {
  /** Card as the agent published it; `undefined` without one. */
  text: string | undefined;
  readAt: number;
  /** Number of the last fetch. */
  number: number;
  failure: GatewayError | undefined;
  failedAt: number;
  fetching: Promise<void> | undefined;
  shown: { readonly text: string; readonly terms: string; readonly card: Projected } | undefined;
}

export function createOwnCards(options: OwnCardsOptions): OwnCards {
  const { origins, presenter, now, log, fetchShared = fetchUnshared } = options;
  const kept = new Map<string, Kept>();

  const fetchAnew = async (agent: FrontedServer, one: Kept, publicUrl: string, terms: CardTerms): Promise<void> => {
    const shared = await fetchShared(`card ${keyOf(agent)}`, one.number, async () => {
      const value = await fetchOwnCard({ origins, presenter }, agent, FETCH_LIMIT_MS);
      return { value, keepMs: value.kind === "text" ? FRESH_MS : RETRY_MS };
    });
    one.number = shared.number;
    const { value: fetched, ageMs, isOwn } = shared;
    const reading =
      fetched.kind !== "text" ? fetched : fetched.isShown ? SHOWN : projected(fetched.text, agent, publicUrl, terms);
    if (fetched.kind === "text" && reading.kind === "card") {
      Object.assign(one, { text: fetched.text, readAt: now() - ageMs, failure: undefined });
      return;
    }
    const { problem, isOld, isDown } = { isOld: false, isDown: false, problem: "", ...reading };
    // The old card is kept only while the agent is unreachable. It is dropped at once if the agent answers that it has no card,
    // or sends an invalid one.
    if (!isDown || now() - one.readAt >= STALE_MS) one.text = undefined;
    Object.assign(one, { failure: failureOf(agent, problem, isOld), failedAt: now() - ageMs });
    if (!isOwn) return;
    log.warn("the card of an agent cannot be fetched", {
      agent: agent.name,
      problem,
      shows_older: one.text !== undefined,
    });
  };

  return {
    async of(agent, publicUrl, terms) {
      const key = keyOf(agent);
      const one = kept.get(key) ?? empty();
      kept.set(key, one);
      const isFresh = one.failure === undefined && one.text !== undefined && now() - one.readAt < FRESH_MS;
      if (!isFresh && (one.failure === undefined || now() - one.failedAt >= RETRY_MS)) {
        one.fetching ??= fetchAnew(agent, one, publicUrl, terms).finally(() => {
          one.fetching = undefined;
        });
        await one.fetching;
      }
      const { text, shown } = one;
      if (text === undefined) throw one.failure ?? failureOf(agent, "it was not fetched", false);
      const termsText = JSON.stringify([publicUrl, terms]);
      if (shown?.text === text && shown.terms === termsText) return shown.card;
      const reading = projected(text, agent, publicUrl, terms);
      if (reading.kind === "refused") throw failureOf(agent, reading.problem, reading.isOld);
      one.shown = { text, terms: termsText, card: reading.card };
      return reading.card;
    },
    keepOnly(agents) {
      const wanted = new Set(agents.map(keyOf));
      for (const key of kept.keys()) if (!wanted.has(key)) kept.delete(key);
    },
  };
}

const empty = (): Kept => ({
  text: undefined,
  readAt: Number.NEGATIVE_INFINITY,
  number: 0,
  failure: undefined,
  failedAt: Number.NEGATIVE_INFINITY,
  fetching: undefined,
  shown: undefined,
});

/** Returns the cache key: the agent and the credential that it is called with. */
const keyOf = ({ name, cardUrl, channel }: FrontedServer): string =>
  JSON.stringify([name, cardUrl, channel.credential?.digest]);

const failureOf = ({ name }: FrontedServer, problem: string, isOld: boolean): GatewayError =>
  new GatewayError(
    isOld ? "unsupported_version" : "upstream_unreachable",
    `The card of agent ${name} cannot be shown: ${problem}.`,
  );

const SHOWN: CardReading = {
  kind: "refused",
  problem: "it contains the credential that the gateway sent",
  isOld: false,
};

function projected(text: string, agent: FrontedServer, publicUrl: string, terms: CardTerms): CardReading {
  const { origin } = agent.channel;
  const read = readOwnCard(text, [origin, agent.cardUrl ?? origin], publicUrl);
  return read.kind === "refused" ? { ...read, isOld: false } : buildPublishedCard(read.card, terms);
}

type FetchedCard =
  /** Card text. `isShown`: it contains the credential that was sent with the request. */
  | { readonly kind: "text"; readonly text: string; readonly isShown: boolean }
  /** Failure. `isDown`: it may be temporary. */
  | { readonly kind: "refused"; readonly problem: string; readonly isDown: boolean };

/**
 * Fetches the card of an agent. The gateway's credential is only sent to the origin of the agent's calls, and a credential that
 * depends on the caller is not sent at all.
 */
export async function fetchOwnCard(
  { origins, presenter }: Pick<OwnCardsOptions, "origins" | "presenter">,
  { cardUrl = "", channel }: FrontedServer,
  limitMs: number,
  signal?: AbortSignal,
): Promise<FetchedCard> {
  const { origin, pathname, search, protocol } = new URL(cardUrl);
  const no = (problem: string, isDown = false): FetchedCard => ({ kind: "refused", problem, isDown });
  if (protocol !== "http:" && protocol !== "https:") return no("its address is not an http or https URL");
  const headers = ["accept", "application/json", "a2a-version", "1.0", "user-agent", "gateway"];
  const { credential, host } = channel;
  const path = pathname + search;
  let presented: PresentedCredential | undefined;
  if (credential !== undefined && credential.kind !== "token_exchange" && origin === channel.origin) {
    try {
      presented = await presenter.present(credential, { method: "GET", path, host, headers, body: null });
    } catch (error) {
      return no(asRefusal(error).message, true);
    }
  }
  const fetched = await fetchDocument(origins.pool(origin), {
    method: "GET",
    path,
    headers: presented?.headers ?? headers,
    limitMs,
    ...(signal !== undefined && { signal }),
  });
  if (fetched.kind === "failed") return no(fetched.problem, fetched.isDown);
  const { status, contentType, text } = fetched;
  if (status >= 300 && status < 400) return no("its address answers with a redirect, which is not followed");
  if (status !== 200) return no(`its address answers ${status}`, status >= 500 || status === 429);
  // Static file servers often give JSON another type, and clients parse a card whatever its type is.
  if (!JSON_TYPE.test(contentType) && !LIKE_OBJECT.test(text)) return no("the answer at its address is not JSON");
  return { kind: "text", text, isShown: presented?.containsCredential("", text) === true };
}

const LIKE_OBJECT = /^\uFEFF?\s*\{/;
const JSON_TYPE = /^application\/(?:[\w.+-]+\+)?json\s*(?:;|$)/i;
