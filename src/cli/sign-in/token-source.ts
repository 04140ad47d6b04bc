/**
 * The token for a gateway, from the cached sign-in. Verbs ask it before a call and, with `renew`, after a 401.
 *
 * While nothing must be renewed this reads one file. Renewing is done by one process at a time (`lock.ts`), which reads
 * again what is cached once it holds the lock: another may have renewed meanwhile. The new refresh token is on the disk
 * before the token is handed out. A process killed between the provider's answer and that write loses a rotated refresh
 * token, and its user signs in again: nothing on this side can close that gap.
 */

import type { Io } from "../io.ts";
import type { SignIn } from "./entry.ts";
import { parseGatewayUrl } from "./gateway-url.ts";
import { type Lock, underLock } from "./lock.ts";
import { SignInError } from "./messages.ts";
import { renewTokens } from "./renew.ts";
import { openStore, type Store, type Stored } from "./store.ts";

/** A token this close to its end may have ended when the gateway reads it. */
const RENEW_BEFORE_MS = 30_000;
/** A machine may sleep while it holds the lock, and finds it taken over when it wakes. */
const ATTEMPTS = 3;

export interface TokenSource {
  /**
   * Resolves to `undefined` if there is no sign-in. `renew`: the last token was not accepted. Rejects with `SignInError` if a
   * sign-in yields no token; the message says what to do.
   */
  token(options?: { readonly renew?: boolean }): Promise<string | undefined>;
}

/** Throws `SignInError` when `url` is not the URL of a gateway. */
export function tokenSource(io: Io, url: string): TokenSource {
  const gateway = parseGatewayUrl(url);
  if (gateway.kind === "refused") throw new SignInError(gateway.words);
  const store = openStore(io);
  /** The caller has seen it fail, when it asks for renewal. */
  let handedOut: string | undefined;
  let isNoted = false;

  const note = (path: string, words: string) => {
    if (!isNoted)
      io.stderr.write(`The sign-in in ${path} is not used: ${words}. Run \`gateway login ${gateway.url}\`.\n`);
    isNoted = true;
  };

  return {
    async token({ renew = false } = {}) {
      const signIn = usable(store.read(gateway.url), gateway.url, note);
      if (signIn === undefined) return undefined;
      handedOut ??= renew ? signIn.token : undefined;
      const isDue = (renew && signIn.token === handedOut) || isEnding(signIn, io.now());
      const token = isDue ? await renewed(io, store, signIn, renew) : signIn.token;
      handedOut = token;
      return token;
    },
  };
}

function usable(stored: Stored, url: string, note: (path: string, words: string) => void): SignIn | undefined {
  switch (stored.kind) {
    case "sign-in":
      return stored.signIn;
    case "none":
      return undefined;
    case "unreadable":
      note(stored.path, stored.words);
      return undefined;
    case "unsafe":
      throw new SignInError(
        `the sign-in in ${stored.path} is not used: ${stored.words}. ` +
          `Its tokens may be known to others: run \`gateway logout ${url}\`, then \`gateway login ${url}\``,
      );
    default:
      return stored satisfies never;
  }
}

async function renewed(io: Io, store: Store, seen: SignIn, isRejected: boolean): Promise<string | undefined> {
  if (seen.refreshToken === undefined) return withoutRenewal(seen, io.now(), isRejected);
  store.prepare();
  for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
    const outcome = await underLock(store.lockPath(store.entryPath(seen.url)), io, async (lock): Promise<Settled> => {
      const stored = store.read(seen.url);
      // Signed out, or damaged, while this process waited.
      if (stored.kind !== "sign-in") return { kind: "settled", token: undefined };
      const { signIn } = stored;
      const isRenewed = signIn.token !== seen.token && !isEnding(signIn, io.now());
      return isRenewed ? { kind: "settled", token: signIn.token } : renewUnderLock(io, store, signIn, lock, isRejected);
    });
    if (outcome.kind === "settled") return outcome.token;
  }
  throw new SignInError("another process renews this sign-in; try again");
}

type Settled =
  | { readonly kind: "settled"; readonly token: string | undefined }
  /** The lock was taken for stale and is another's. */
  | { readonly kind: "overtaken" };

async function renewUnderLock(io: Io, store: Store, signIn: SignIn, lock: Lock, isRejected: boolean): Promise<Settled> {
  const outcome = await renewTokens(signIn, { signal: io.signal, now: () => io.now(), mayRenew: () => lock.isHeld() });
  switch (outcome.kind) {
    case "renewed":
      store.write({ ...signIn, ...outcome.tokens });
      return { kind: "settled", token: outcome.tokens.token };
    case "token missing":
      // The old refresh token may be spent.
      store.write({ ...signIn, refreshToken: outcome.refreshToken });
      return { kind: "settled", token: withoutRenewal(signIn, io.now(), isRejected) };
    case "refused":
      throw new SignInError(`the sign-in at ${signIn.url} has ended${again(signIn)}`, { cause: outcome.error });
    case "overtaken":
      return outcome;
    case "failed":
      // Still good for a moment, and the next call tries again.
      if (!isRejected && !isExpired(signIn, io.now())) return { kind: "settled", token: signIn.token };
      throw outcome.error;
    default:
      return outcome satisfies never;
  }
}

function withoutRenewal(signIn: SignIn, now: number, isRejected: boolean): string {
  if (!isRejected && !isExpired(signIn, now)) return signIn.token;
  const what = isExpired(signIn, now) ? "has expired" : "is not accepted any longer";
  throw new SignInError(`the sign-in at ${signIn.url} ${what} and cannot be renewed${again(signIn)}`);
}

function again({ url }: SignIn): string {
  return `; run \`gateway login ${url}\``;
}

function isEnding({ expiresAt }: SignIn, now: number): boolean {
  return expiresAt !== undefined && expiresAt - now < RENEW_BEFORE_MS;
}

function isExpired({ expiresAt }: SignIn, now: number): boolean {
  return expiresAt !== undefined && expiresAt <= now;
}
