/** Signs in at the identity provider, by browser or by device code. The result is not stored yet. */

import type { TokenEndpointResponse } from "openid-client";
import type { Io } from "../process-io.ts";
import { browserGrant } from "./browser-grant.ts";
import { deviceGrant } from "./device-grant.ts";
import type { SignInOffer } from "./gateway-requests.ts";
import { claimsOf, openProvider, tokensOf } from "./openid-provider.ts";
import type { SignIn } from "./sign-in-entry.ts";
import { printable, SignInError } from "./sign-in-errors.ts";

/** Gets the tokens. Rejects with `SignInError`, or with the reason of `io.signal`. */
export async function obtainSignIn(
  url: string,
  offer: SignInOffer,
  method: "browser" | "device",
  io: Io,
): Promise<SignIn> {
  const { issuer, clientId } = offer;
  const provider = await openProvider({ issuer, clientId, signal: io.signal, checksSignatures: true });
  const grant = method === "browser" ? browserGrant : deviceGrant;
  const answer = await grant(provider, offer, io);
  const tokens = tokensOf(answer, offer.tokenKind, io.now());
  if (tokens === undefined) {
    const hint = offer.tokenKind === "id" && !offer.scopes.includes("openid") ? "; `scopes` lacks openid" : "";
    throw new SignInError(`the identity provider ${printable(issuer)} gave no ${offer.tokenKind} token${hint}`);
  }
  return {
    url,
    issuerName: offer.name,
    issuer,
    clientId,
    tokenKind: offer.tokenKind,
    resource: offer.extraParameters["resource"],
    callerName: nameOf(answer),
    ...tokens,
  };
}

/** Returns a name that a person recognizes; empty if the tokens contain none. */
function nameOf({ id_token, access_token }: TokenEndpointResponse): string {
  for (const token of [id_token, access_token]) {
    const claims = token === undefined ? undefined : claimsOf(token);
    for (const name of ["preferred_username", "email", "sub"]) {
      const value = claims?.[name];
      if (typeof value === "string" && value !== "") return printable(value, 200);
    }
  }
  return "";
}
