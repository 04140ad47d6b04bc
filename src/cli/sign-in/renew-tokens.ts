/**
 * Renews the tokens with a refresh token (RFC 6749 section 6; OpenID Connect Core, section 12). The caller holds the
 * lock.
 */

import {
  asSignInError,
  isRefusedGrant,
  openProvider,
  type Provider,
  type Tokens,
  tokensOf,
} from "./openid-provider.ts";
import type { SignIn } from "./sign-in-entry.ts";
import { SignInError } from "./sign-in-errors.ts";

interface RenewOptions {
  /** Aborts only the steps before the refresh token is sent. */
  readonly signal: AbortSignal;
  now(): number;
  /** Called right before the refresh token is sent; false stops the renewal. */
  mayRenew(): boolean;
}

type Renewal =
  | { readonly kind: "renewed"; readonly tokens: Tokens }
  /**
   * The provider renewed the tokens, but without the kind that is sent to the gateway. Some providers omit the ID
   * token.
   */
  | { readonly kind: "token missing"; readonly refreshToken: string }
  /** The refresh token is no longer valid. */
  | { readonly kind: "refused"; readonly error: unknown }
  /** Nothing was sent, because another process has taken the lock. */
  | { readonly kind: "overtaken" }
  | { readonly kind: "failed"; readonly error: unknown };

/** Renews the tokens once. Rejects only when `signal` aborts. */
export async function renewTokens(signIn: SignIn, { signal, now, mayRenew }: RenewOptions): Promise<Renewal> {
  const { refreshToken, tokenKind, resource } = signIn;
  if (refreshToken === undefined) return { kind: "failed", error: new SignInError("there is no refresh token") };
  let provider: Provider;
  // An answer that is not read would lose a rotated refresh token. So once the request is sent, only its own timeout
  // ends it: the signal is forwarded by hand, and only until discovery is done.
  const discovery = new AbortController();
  const forwardAbort = () => discovery.abort(signal.reason);
  signal.addEventListener("abort", forwardAbort, { once: true });
  try {
    signal.throwIfAborted();
    const { issuer, clientId } = signIn;
    provider = await openProvider({ issuer, clientId, signal: discovery.signal, checksSignatures: false });
    signal.throwIfAborted();
    if (!mayRenew()) return { kind: "overtaken" };
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    return { kind: "failed", error };
  } finally {
    signal.removeEventListener("abort", forwardAbort);
  }
  const { oidc, configuration } = provider;
  try {
    const parameters = resource === undefined ? {} : { resource };
    const answer = await oidc.refreshTokenGrant(configuration, refreshToken, parameters);
    // A provider that does not rotate refresh tokens returns none, and the old one stays valid.
    const next = answer.refresh_token ?? refreshToken;
    const tokens = tokensOf(answer, tokenKind, now());
    if (tokens === undefined) return { kind: "token missing", refreshToken: next };
    return { kind: "renewed", tokens: { ...tokens, refreshToken: next } };
  } catch (error) {
    if (isRefusedGrant(oidc, error)) return { kind: "refused", error };
    return { kind: "failed", error: asSignInError(oidc, signIn.issuer, error, discovery.signal) };
  }
}
