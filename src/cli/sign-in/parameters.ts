/**
 * The parameters of a request for authorization that the operator's `login` block decides: the scopes, and `extra` as it
 * is written. What the client itself must set cannot be set there.
 */

import type { Offer } from "./gateway-requests.ts";
import { printable, SignInError } from "./messages.ts";

/** Those that decide what comes back, where to, and that it is the answer to this request. */
const OURS: ReadonlySet<string> = new Set([
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

/** Throws `SignInError` for an `extra` that would set one of the client's own. */
export function requestedParameters({ scopes, extra }: Offer): Readonly<Record<string, string>> {
  for (const name of Object.keys(extra)) {
    if (OURS.has(name)) {
      throw new SignInError(
        `the gateway's login block sets '${printable(name, 40)}' in extra, which the client sets itself`,
      );
    }
  }
  return { ...extra, scope: scopes.join(" ") };
}

/**
 * Returns the parameter that is sent to the token endpoint as well: `resource`, which decides the audience of the access token
 * (RFC 8707 section 2.2).
 */
export function resourceOf({ extra }: Offer): { readonly resource: string } | Record<string, never> {
  const { resource } = extra;
  return resource === undefined ? {} : { resource };
}
