/**
 * Parameters of the authorization request that the operator's `login` block sets: the scopes, and the parameters in
 * `extra`. Parameters that the client sets itself are refused.
 */

import type { SignInOffer } from "./gateway-requests.ts";
import { printable, SignInError } from "./sign-in-errors.ts";

/** Parameters that the client sets itself, since they select the response and its target, and tie it to this request. */
const RESERVED_PARAMETERS: ReadonlySet<string> = new Set([
  "client_id",
  "client_secret",
  "client_assertion",
  "client_assertion_type",
  "code_challenge",
  "code_challenge_method",
  "device_code",
  "grant_type",
  "nonce",
  "redirect_uri",
  "request",
  "request_uri",
  "response_mode",
  "response_type",
  "scope",
  "state",
]);

/** Returns the parameters. Throws `SignInError` if `extra` contains one that the client sets itself. */
export function requestedParameters({ scopes, extraParameters }: SignInOffer): Readonly<Record<string, string>> {
  for (const name of Object.keys(extraParameters)) {
    if (RESERVED_PARAMETERS.has(name)) {
      throw new SignInError(
        `the gateway's login block sets '${printable(name, 40)}' in extra, which the client sets itself`,
      );
    }
  }
  return { ...extraParameters, scope: scopes.join(" ") };
}

/**
 * Returns the parameter that is sent to the token endpoint as well: `resource`, which decides the audience of the access token
 * (RFC 8707 section 2.2).
 */
export function resourceOf({ extraParameters }: SignInOffer): { readonly resource: string } | Record<string, never> {
  const { resource } = extraParameters;
  return resource === undefined ? {} : { resource };
}
