/**
 * Returns the token for a gateway from the stored sign-in. Verbs call it before a request and, with `renew`, after a
 * 401.
 *
 * If no renewal is due, it only reads one file. One process at a time renews (`sign-in-lock.ts`); once it holds the lock, it
 * reads the stored sign-in again, since another process may have renewed it. The new refresh token is written to disk
 * before the token is used. If the process is killed between the provider's answer and that write, a rotated refresh
 * token is lost and the user must sign in again; the client cannot prevent that.
 */

import type { Io } from "../process-io.ts";
import { parseGatewayUrl } from "./gateway-url.ts";
import { renewTokens } from "./renew-tokens.ts";
import type { SignIn } from "./sign-in-entry.ts";
import { SignInError } from "./sign-in-errors.ts";
import { type Lock, withLock } from "./sign-in-lock.ts";
import { openSignInStore, type SignInStore, type StoredSignIn } from "./sign-in-store.ts";

/** Margin before the expiry at which a token is renewed, since it might expire on its way to the gateway. */
const RENEW_BEFORE_MS = 30_000;
/** Number of attempts to renew under the lock. A machine that sleeps while it holds the lock may lose it. */
const ATTEMPTS = 3;

interface TokenSource {
  /**
   * Returns the token; `undefined` if there is no sign-in. `renew`: the last token was not accepted. Rejects with
   * `SignInError` if a sign-in yields no token; the message says what to do.
   */
  token(options?: { readonly renew?: boolean }): Promise<string | undefined>;
}

/** Creates the source. Throws `SignInError` if `url` is not the URL of a gateway. */
export function createTokenSource(io: Io, url: string): TokenSource {
  const gateway = parseGatewayUrl(url);
  if (gateway.kind === "refused") throw new SignInError(gateway.reason);
  const store = openSignInStore(io);
  /** Last token that was returned. If the caller requests a renewal, this is the rejected one. */
  let lastToken: string | undefined;
  let hasWarned = false;

  const warnOnce = (path: string, message: string) => {
    if (!hasWarned)
      io.stderr.write(`The sign-in in ${path} is not used: ${message}. Run \`gateway login ${gateway.url}\`.\n`);
    hasWarned = true;
  };

  return {
    async token({ renew = false } = {}) {
      const signIn = usableSignIn(store.read(gateway.url), gateway.url, warnOnce);
      if (signIn === undefined) return undefined;
      lastToken ??= renew ? signIn.token : undefined;
      const isDue = (renew && signIn.token === lastToken) || isEnding(signIn, io.now());
      const token = isDue ? await renewedToken(io, store, signIn, renew) : signIn.token;
      lastToken = token;
      return token;
    },
  };
}

function usableSignIn(
  stored: StoredSignIn,
  url: string,
  warn: (path: string, message: string) => void,
): SignIn | undefined {
  switch (stored.kind) {
    case "sign-in":
      return stored.signIn;
    case "none":
      return undefined;
    case "unreadable":
      warn(stored.path, stored.reason);
      return undefined;
    case "unsafe":
      throw new SignInError(
        `the sign-in in ${stored.path} is not used: ${stored.reason}. ` +
          `Its tokens may be known to others: run \`gateway logout ${url}\`, then \`gateway login ${url}\``,
      );
    default:
      return stored satisfies never;
  }
}

async function renewedToken(
  io: Io,
  store: SignInStore,
  known: SignIn,
  isRejected: boolean,
): Promise<string | undefined> {
  if (known.refreshToken === undefined) return tokenWithoutRenewal(known, io.now(), isRejected);
  store.ensureDirectory();
  for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
    const outcome = await withLock(
      store.lockPath(store.entryPath(known.url)),
      io,
      async (lock): Promise<RenewalResult> => {
        const stored = store.read(known.url);
        // The user signed out, or the file was damaged, while this process waited for the lock.
        if (stored.kind !== "sign-in") return { kind: "settled", token: undefined };
        const { signIn } = stored;
        const isRenewed = signIn.token !== known.token && !isEnding(signIn, io.now());
        return isRenewed
          ? { kind: "settled", token: signIn.token }
          : renewUnderLock(io, store, signIn, lock, isRejected);
      },
    );
    if (outcome.kind === "settled") return outcome.token;
  }
  throw new SignInError("another process renews this sign-in; try again");
}

type RenewalResult =
  | { readonly kind: "settled"; readonly token: string | undefined }
  /** Another process considered the lock stale and took it. */
  | { readonly kind: "overtaken" };

async function renewUnderLock(
  io: Io,
  store: SignInStore,
  signIn: SignIn,
  lock: Lock,
  isRejected: boolean,
): Promise<RenewalResult> {
  const outcome = await renewTokens(signIn, { signal: io.signal, now: () => io.now(), mayRenew: () => lock.isHeld() });
  switch (outcome.kind) {
    case "renewed":
      store.write({ ...signIn, ...outcome.tokens });
      return { kind: "settled", token: outcome.tokens.token };
    case "token missing":
      // The answer may have a new refresh token, which replaces the one that was used.
      store.write({ ...signIn, refreshToken: outcome.refreshToken });
      return { kind: "settled", token: tokenWithoutRenewal(signIn, io.now(), isRejected) };
    case "refused":
      throw new SignInError(`the sign-in at ${signIn.url} has ended${loginHint(signIn)}`, { cause: outcome.error });
    case "overtaken":
      return outcome;
    case "failed":
      // The token is still valid for a short time, and the next call tries again.
      if (!isRejected && !isExpired(signIn, io.now())) return { kind: "settled", token: signIn.token };
      throw outcome.error;
    default:
      return outcome satisfies never;
  }
}

function tokenWithoutRenewal(signIn: SignIn, now: number, isRejected: boolean): string {
  if (!isRejected && !isExpired(signIn, now)) return signIn.token;
  const problem = isExpired(signIn, now) ? "has expired" : "is not accepted any longer";
  throw new SignInError(`the sign-in at ${signIn.url} ${problem} and cannot be renewed${loginHint(signIn)}`);
}

function loginHint({ url }: SignIn): string {
  return `; run \`gateway login ${url}\``;
}

function isEnding({ expiresAt }: SignIn, now: number): boolean {
  return expiresAt !== undefined && expiresAt - now < RENEW_BEFORE_MS;
}

function isExpired({ expiresAt }: SignIn, now: number): boolean {
  return expiresAt !== undefined && expiresAt <= now;
}
