/**
 * Gets tokens without a browser on this machine: the user enters a code on another device. Source: RFC 8628.
 *
 * Polls at the interval that the provider requests, and more slowly when it says so, until the code expires.
 */

import type { DeviceAuthorizationResponse, TokenEndpointResponse } from "openid-client";
import { anySignal } from "../../base/index.ts";
import type { Io } from "../process-io.ts";
import type { SignInOffer } from "./gateway-requests.ts";
import { asSignInError, type Provider } from "./openid-provider.ts";
import { requestedParameters, resourceOf } from "./request-parameters.ts";
import { printable, SignInError } from "./sign-in-errors.ts";

/** Maximum time to wait for the user, even if the code is valid for longer. */
const MAX_WAIT_SECONDS = 30 * 60;

export async function deviceGrant(provider: Provider, offer: SignInOffer, io: Io): Promise<TokenEndpointResponse> {
  const { oidc, configuration, issuer } = provider;
  if (configuration.serverMetadata().device_authorization_endpoint === undefined) {
    throw new SignInError(
      `the identity provider ${issuer} has no sign-in by code (device grant); sign in where a browser can be opened`,
    );
  }
  try {
    const parameters = requestedParameters(offer);
    const device = await oidc.initiateDeviceAuthorization(configuration, { ...parameters });
    printDeviceCode(device, io);
    return await poll(provider, device, resourceOf(offer), io);
  } catch (error) {
    throw asSignInError(oidc, issuer, error, io.signal);
  }
}

async function poll(
  { oidc, configuration }: Provider,
  device: DeviceAuthorizationResponse,
  parameters: Record<string, string>,
  io: Io,
): Promise<TokenEndpointResponse> {
  const timeout = AbortSignal.timeout(Math.ceil(Math.min(device.expires_in, MAX_WAIT_SECONDS) * 1_000));
  const signal = anySignal([io.signal, timeout]);
  const stopped = new Promise<never>((_resolve, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
  const tokens = oidc.pollDeviceAuthorizationGrant(configuration, device, parameters, { signal });
  try {
    // The library checks the signal only every five seconds; with the race, Ctrl-C takes effect at once.
    return await Promise.race([tokens, stopped]);
  } catch (error) {
    if (io.signal.aborted) throw io.signal.reason;
    const isLate = timeout.aborted || (error instanceof oidc.ResponseBodyError && error.error === "expired_token");
    throw isLate ? new SignInError("nobody entered the code before it expired") : error;
  } finally {
    // Prevents an unhandled rejection of the promise that lost the race.
    for (const promise of [tokens, stopped]) promise.catch(() => undefined);
  }
}

function printDeviceCode(device: DeviceAuthorizationResponse, { stderr }: Io): void {
  const complete = webAddress(device.verification_uri_complete ?? "");
  const address = webAddress(device.verification_uri);
  if (address === undefined) throw new SignInError("the identity provider names no web address to enter the code at");
  const shortcut = complete === undefined ? "" : `\nor directly to\n\n  ${complete}\n`;
  stderr.write(
    `On any device with a browser, go to\n\n  ${address}\n\nand enter the code\n\n  ${printable(device.user_code, 60)}\n` +
      `${shortcut}\nWaiting.\n`,
  );
}

/**
 * Returns the URL in normalized form, so that it cannot be mistaken for another one; `undefined` if it is not an HTTP
 * address.
 */
function webAddress(text: string): string | undefined {
  if (!URL.canParse(text)) return undefined;
  const url = new URL(text);
  return url.protocol === "https:" || url.protocol === "http:" ? url.href : undefined;
}
