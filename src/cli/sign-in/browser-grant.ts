/**
 * Gets tokens through the browser: authorization code with PKCE (S256) and a loopback redirect. Sources: RFC 6749
 * section 4.1, RFC 7636, RFC 8252; OpenID Connect Core, section 3.1, for the nonce.
 *
 * The URL given to the browser contains the challenge but never the verifier, so an intercepted code is useless.
 */

import type { TokenEndpointResponse } from "openid-client";
import { anySignal } from "../../base/index.ts";
import type { Io } from "../process-io.ts";
import { type Arrival, listenForCallback } from "./callback-listener.ts";
import type { SignInOffer } from "./gateway-requests.ts";
import { openBrowser } from "./open-browser.ts";
import { asSignInError, type Provider } from "./openid-provider.ts";
import { requestedParameters, resourceOf } from "./request-parameters.ts";
import { SignInError } from "./sign-in-errors.ts";

/** Time for the user to sign in, in milliseconds. Looking up a password or a second factor takes a while. */
const WAIT_MS = 5 * 60_000;

export async function browserGrant(provider: Provider, offer: SignInOffer, io: Io): Promise<TokenEndpointResponse> {
  const { oidc, configuration, issuer } = provider;
  if (configuration.serverMetadata().authorization_endpoint === undefined) {
    throw new SignInError(`the identity provider ${issuer} has no sign-in by browser; try -device`);
  }
  const codeVerifier = oidc.randomPKCECodeVerifier();
  const state = oidc.randomState();
  const nonce = offer.scopes.includes("openid") ? oidc.randomNonce() : undefined;
  const callback = await listenForCallback();
  try {
    const url = oidc.buildAuthorizationUrl(configuration, {
      ...requestedParameters(offer),
      redirect_uri: callback.redirectUri,
      code_challenge: await oidc.calculatePKCECodeChallenge(codeVerifier),
      code_challenge_method: "S256",
      state,
      ...(nonce === undefined ? {} : { nonce }),
    });
    // The listener must be ready before the browser opens, since the redirect may arrive at once.
    const arrived = waitForCallback(callback.wait.bind(undefined, state), io);
    // The promise is awaited below. Without this handler, an interruption while the browser starts would be an
    // unhandled rejection.
    arrived.catch(() => undefined);
    await openSignInPage(url.href, io);
    const answer = await arrived;
    try {
      const tokens = await oidc.authorizationCodeGrant(
        configuration,
        answer.url,
        {
          pkceCodeVerifier: codeVerifier,
          expectedState: state,
          ...(nonce === undefined ? {} : { expectedNonce: nonce }),
        },
        resourceOf(offer),
      );
      await answer.show({ title: "Signed in", message: "You may close this window and go back to the terminal." });
      return tokens;
    } catch (error) {
      const cause = asSignInError(oidc, issuer, error, io.signal);
      const reason = cause instanceof SignInError ? cause.message : "it was interrupted";
      await answer.show({ title: "Not signed in", message: `The sign-in failed: ${reason}.` });
      throw cause;
    }
  } finally {
    await callback.close();
  }
}

async function waitForCallback(wait: (signal: AbortSignal) => Promise<Arrival>, { signal }: Io): Promise<Arrival> {
  const timeout = AbortSignal.timeout(WAIT_MS);
  try {
    return await wait(anySignal([signal, timeout]));
  } catch (error) {
    if (signal.aborted || !timeout.aborted) throw error;
    throw new SignInError(`nobody signed in within ${WAIT_MS / 60_000} minutes`);
  }
}

async function openSignInPage(url: string, { env, stderr }: Io): Promise<void> {
  stderr.write(`Sign in with your browser. If it does not open, go to\n\n  ${url}\n\n`);
  if (!(await openBrowser(url, env))) stderr.write("The browser could not be started. -device signs in without one.\n");
}
