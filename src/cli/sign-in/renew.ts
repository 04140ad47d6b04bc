/** One use of a refresh token (RFC 6749 section 6; OpenID Connect Core, section 12). The caller holds the lock. */

import type { SignIn } from "./entry.ts";
import { SignInError } from "./messages.ts";
import { asSignInError, isRefusedGrant, openProvider, type Provider, type Tokens, tokensOf } from "./provider.ts";

interface RenewOptions {
  /** Aborts what comes before the refresh token is sent, and nothing after it. */
  readonly signal: AbortSignal;
  now(): number;
  /** Asked at the last moment before the refresh token is sent. */
  mayRenew(): boolean;
}

type Renewal =
  | { readonly kind: "renewed"; readonly tokens: Tokens }
  /** The provider renews, but not the kind of token that is presented (a provider may leave the ID token out). */
  | { readonly kind: "token missing"; readonly refreshToken: string }
  /** The refresh token is no longer good. */
  | { readonly kind: "refused"; readonly error: unknown }
  /** Nothing was sent: the lock is another's by now. */
  | { readonly kind: "overtaken" }
  | { readonly kind: "failed"; readonly error: unknown };

/** Rejects only when `signal` aborts. */
export async function renewTokens(signIn: SignIn, { signal, now, mayRenew }: RenewOptions): Promise<Renewal> {
  const { refreshToken, tokenKind, resource } = signIn;
  if (refreshToken === undefined) return { kind: "failed", error: new SignInError("there is no refresh token") };
  let provider: Provider;
  // An answer that nobody reads takes a rotated refresh token with it: once the request is sent, only its own limit ends
  // it. So the signal is passed on by hand, and no longer after discovery.
  const stop = new AbortController();
  const pass = () => stop.abort(signal.reason);
  signal.addEventListener("abort", pass, { once: true });
  try {
    signal.throwIfAborted();
    const { issuer, clientId } = signIn;
    provider = await openProvider({ issuer, clientId, signal: stop.signal, checksSignatures: false });
    signal.throwIfAborted();
    if (!mayRenew()) return { kind: "overtaken" };
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    return { kind: "failed", error };
  } finally {
    signal.removeEventListener("abort", pass);
  }
  const { oidc, configuration } = provider;
  try {
    const parameters = resource === undefined ? {} : { resource };
    const answer = await oidc.refreshTokenGrant(configuration, refreshToken, parameters);
    // A provider that does not rotate gives none: the old one stays.
    const next = answer.refresh_token ?? refreshToken;
    const tokens = tokensOf(answer, tokenKind, now());
    if (tokens === undefined) return { kind: "token missing", refreshToken: next };
    return { kind: "renewed", tokens: { ...tokens, refreshToken: next } };
  } catch (error) {
    if (isRefusedGrant(oidc, error)) return { kind: "refused", error };
    return { kind: "failed", error: asSignInError(oidc, signIn.issuer, error, stop.signal) };
  }
}
