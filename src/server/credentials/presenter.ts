/**
 * Provides the credential of each outgoing request. There are four kinds; fetched tokens and keys are kept across reloads as long
 * as a configuration names them. Source: design decisions, section 13.
 */

import { type Clock, type FetchShared, fetchUnshared, type Instruments, type Log } from "../../base/index.ts";
import { type IssuerOptions, tokenEndpointFinder } from "../auth/index.ts";
import { readForwardProxies } from "../forward-proxy/index.ts";
import { createCredentialMetrics } from "./metrics.ts";
import { createClockOffsets } from "./signing/clock-offsets.ts";
import { type PresentSigned, signedPresenter } from "./signing/cloudsig.ts";
import { ChainFailure, type PlatformKeys, platformChain } from "./signing/platform-keys.ts";
import { type BearerToken, createBearerToken, withBearer } from "./tokens/bearer-token.ts";
import { clientCredentials, TokenUnavailable } from "./tokens/client-credentials.ts";
import { createRenewedValue, type RenewedValue } from "./tokens/renewed-value.ts";
import { createSharedTokenRequest } from "./tokens/shared-token.ts";
import { openTokenDialer } from "./tokens/token-dialer.ts";
import { createExchanger, type Exchanger } from "./tokens/token-exchange.ts";
import { TOKEN_LIMIT_MS } from "./tokens/token-request.ts";
import type {
  ClientCredential,
  Credential,
  CredentialCheck,
  CredentialKind,
  OutgoingRequest,
  PresentedCredential,
  Presenter,
  SigningCredential,
  TokenExchangeCredential,
} from "./types.ts";

export interface PresenterOptions {
  /** Returns an entry of the node file's `issuers`: the same object until it changes. */
  readonly issuer: (name: string) => IssuerOptions | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  readonly instruments: Instruments;
  readonly log: Log;
  /** Fetches shared with other processes of the node; omitted if this process fetches alone. */
  readonly fetchShared?: FetchShared;
}

const TOKEN_DROPS_EVERY_MS = 1_000;
const KEYS_DROP_EVERY_MS = 10_000;

/** Minimum interval between log lines about a failure that only a changed configuration fixes, in milliseconds. */
const LOG_EVERY_MS = 60_000;

interface CacheEntry {
  readonly name: string;
  close(): void;
}

interface TokenCacheEntry extends CacheEntry {
  readonly tokens: RenewedValue<BearerToken>;
}

interface ExchangerCacheEntry extends CacheEntry {
  readonly exchanger: Exchanger;
  readonly issuer: IssuerOptions;
}

export function openPresenter(options: PresenterOptions): Presenter {
  const { issuer, env, clock, instruments, log, fetchShared = fetchUnshared } = options;
  const requestToken = createSharedTokenRequest(fetchShared, clock.now);
  const metrics = createCredentialMetrics(instruments);
  const { proxies } = readForwardProxies(env);
  const offsets = createClockOffsets({
    now: clock.now,
    onChange(host, offsetMs) {
      metrics.setClockOffset(host, offsetMs);
      log.warn("requests are signed with a corrected time, since the upstream's clock differs from this node's", {
        host,
        offset_ms: offsetMs,
      });
    },
  });
  const platforms = new Map<string, CacheEntry & { readonly keys: RenewedValue<PlatformKeys> }>();
  const signers = new Map<string, PresentSigned>();
  const tokens = new Map<string, TokenCacheEntry>();
  const exchangers = new Map<string, ExchangerCacheEntry>();
  const caches = [platforms, tokens, exchangers];
  instruments.observedGauge(
    "gateway_exchanged_tokens",
    "Exchanged tokens in the caches of this node. Each worker process has its own.",
    () => {
      let size = 0;
      for (const { exchanger } of exchangers.values()) size += exchanger.size();
      return size;
    },
  );

  /** Logs fetches and, at a limited rate, failures. Fetches of another process are logged there. */
  function createFetchReporter(name: string, kind: CredentialKind) {
    let loggedAt = Number.NEGATIVE_INFINITY;
    let isFailing = false;
    return {
      onFetched(isOwn: boolean) {
        metrics.setFailing(name, false);
        if (isOwn) metrics.countFetch(name, kind, "fetched");
        if (isFailing) log.info("a credential can be fetched again", { credential: name, kind });
        isFailing = false;
      },
      onFailed(failures: number, reason: string, isOwn: boolean) {
        metrics.setFailing(name, true);
        if (!isOwn) return;
        metrics.countFetch(name, kind, "failed");
        const now = clock.monotonic();
        if (isFailing && now < loggedAt + LOG_EVERY_MS) return;
        isFailing = true;
        loggedAt = now;
        log.error("a credential cannot be fetched", { credential: name, kind, reason, failures });
      },
    };
  }

  function platformOf({ name, scope }: SigningCredential): RenewedValue<PlatformKeys> {
    const known = platforms.get(name);
    if (known !== undefined) return known.keys;
    const reporter = createFetchReporter(name, "cloudsig");
    const keys = createRenewedValue({
      fetch: platformChain({ name, region: scope.region, env, now: clock.now, fetchShared }),
      pauseOf: () => undefined,
      minDropIntervalMs: KEYS_DROP_EVERY_MS,
      clock,
      random: Math.random,
      onFetched: reporter.onFetched,
      onFailed: (failures, failure) => reporter.onFailed(failures, ...failureForLog(failure)),
    });
    platforms.set(name, { name, keys, close: keys.close });
    return keys;
  }

  function signerOf(credential: SigningCredential): PresentSigned {
    const known = signers.get(credential.digest);
    if (known !== undefined) return known;
    const platform = credential.keys === undefined ? platformOf(credential) : undefined;
    const signer = signedPresenter(credential, { platform, offsets, clock, metrics });
    signers.set(credential.digest, signer);
    return signer;
  }

  function tokensOf(credential: ClientCredential): TokenCacheEntry {
    const { name, digest } = credential;
    const known = tokens.get(digest);
    if (known !== undefined) return known;
    const reporter = createFetchReporter(name, "oauth");
    const dialer = openTokenDialer(undefined, TOKEN_LIMIT_MS, proxies);
    const ask = clientCredentials(credential, { dialer, request: requestToken, now: clock.now });
    const onRepeat = (): void => metrics.countRepeat(name, "token");
    const renewed: RenewedValue<BearerToken> = createRenewedValue({
      async fetch() {
        const { value, ...rest } = await ask();
        return { value: createBearerToken(value, { drop: (it) => renewed.drop(it), onRepeat }), ...rest };
      },
      pauseOf: (failure) => (failure instanceof TokenUnavailable ? failure.pauseMs : undefined),
      minDropIntervalMs: TOKEN_DROPS_EVERY_MS,
      clock,
      random: Math.random,
      onFetched: reporter.onFetched,
      onFailed: (failures, failure) => reporter.onFailed(failures, ...failureForLog(failure)),
    });
    const close = (): void => {
      renewed.close();
      dialer.close();
    };
    const entry: TokenCacheEntry = { name, tokens: renewed, close };
    tokens.set(digest, entry);
    return entry;
  }

  function exchangerOf(credential: TokenExchangeCredential): Exchanger {
    const { name, digest } = credential;
    const trusted = issuer(credential.issuer);
    // Loading refuses an unknown issuer, but the node file may have lost it since.
    if (trusted === undefined) throw new Error(`the node file names no issuer ${credential.issuer}`);
    const known = exchangers.get(digest);
    if (known?.issuer === trusted) return known.exchanger;
    known?.close();
    const reporter = createFetchReporter(name, "token_exchange");
    let failures = 0;
    const exchanger = createExchanger(credential, {
      findEndpoint: tokenEndpointFinder(trusted),
      proxies,
      request: requestToken,
      onRepeat: () => metrics.countRepeat(name, "token"),
      clock,
      random: Math.random,
      onEnd(outcome, isOwn, reason) {
        if (outcome === "refused") {
          if (!isOwn) return;
          metrics.countFetch(name, "token_exchange", "refused");
          log.info("an issuer refused to exchange a caller's token", { credential: name, reason });
          return;
        }
        failures = outcome === "failed" ? failures + 1 : 0;
        if (outcome === "failed") reporter.onFailed(failures, reason, isOwn);
        else reporter.onFetched(isOwn);
      },
    });
    exchangers.set(digest, { name, exchanger, issuer: trusted, close: exchanger.close });
    return exchanger;
  }

  const presentBearer = (
    request: OutgoingRequest,
    found: BearerToken | Promise<BearerToken>,
  ): PresentedCredential | Promise<PresentedCredential> =>
    found instanceof Promise ? found.then((it) => withBearer(request, it)) : withBearer(request, found);

  async function describeCheck(credential: Credential, signal: AbortSignal): Promise<CredentialCheck> {
    switch (credential.kind) {
      case "api_key":
        return { verdict: "ok", detail: "a static key" };
      case "cloudsig": {
        const { region, service } = credential.scope;
        const signs = `signs for ${service} in ${region}`;
        if (credential.keys !== undefined) return { verdict: "ok", detail: `${signs} with the keys of the document` };
        const { source, accessKeyId } = await platformOf(credential).current();
        return { verdict: "ok", detail: `${signs} with keys of ${source}, id …${accessKeyId.slice(-4)}` };
      }
      case "oauth":
        await tokensOf(credential).tokens.current();
        return { verdict: "ok", detail: "its token endpoint returned a token" };
      case "token_exchange": {
        const trusted = issuer(credential.issuer);
        if (trusted === undefined)
          return { verdict: "fail", detail: `no issuer ${credential.issuer} in the node file` };
        await tokenEndpointFinder(trusted)({ timeoutMs: TOKEN_LIMIT_MS, signal });
        const message = `the token endpoint of ${credential.issuer} is known; whether it exchanges only a caller can prove`;
        return { verdict: "note", detail: message };
      }
      default:
        return credential satisfies never;
    }
  }

  return {
    async check(credential, signal) {
      try {
        return await describeCheck(credential, signal);
      } catch (error) {
        const { message } = error instanceof Error ? error : new Error("it is not available");
        const known = error instanceof ChainFailure || error instanceof TokenUnavailable ? error.reason : message;
        return { verdict: "fail", detail: known };
      }
    },
    present(credential, request, actingFor) {
      switch (credential.kind) {
        case "api_key":
          return {
            headers: request.headers.concat(credential.headers),
            containsCredential: credential.containsCredential,
            judge: undefined,
          };
        case "cloudsig":
          return signerOf(credential)(request);
        case "oauth":
          return presentBearer(request, tokensOf(credential).tokens.current());
        case "token_exchange":
          return presentBearer(request, exchangerOf(credential).exchange(actingFor));
        default:
          return credential satisfies never;
      }
    },
    keepOnly(credentials) {
      const all = [...credentials];
      const digests = new Set(all.map(({ digest }) => digest));
      const platformNames = new Set(
        all.flatMap((it) => (it.kind === "cloudsig" && it.keys === undefined ? it.name : [])),
      );
      for (const digest of signers.keys()) if (!digests.has(digest)) signers.delete(digest);
      for (const [cache, wanted] of [
        [platforms, platformNames],
        [tokens, digests],
        [exchangers, digests],
      ] as const) {
        for (const [key, entry] of cache) {
          if (wanted.has(key)) continue;
          entry.close();
          cache.delete(key);
          metrics.setFailing(entry.name, false);
        }
      }
    },
    close() {
      for (const cache of caches) for (const entry of cache.values()) entry.close();
    },
  };
}

/** Returns why a fetch failed, for the log, and whether this process made it. */
function failureForLog(failure: unknown): [reason: string, isOwn: boolean] {
  const isKnown = failure instanceof ChainFailure || failure instanceof TokenUnavailable;
  return isKnown ? [failure.reason, !failure.isFromOtherProcess] : ["", true];
}
