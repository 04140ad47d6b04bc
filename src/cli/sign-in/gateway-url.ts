/**
 * Normalizes the URL of a gateway, which identifies its stored sign-in, and tells whether a token sent there could be
 * intercepted.
 */

import { isIPv4 } from "node:net";
import { parseAdminUrl } from "../../admin-api/index.ts";

const MAX_URL_LENGTH = 2_048;

type GatewayUrl =
  | {
      readonly kind: "url";
      readonly url: string;
      /** Whether a token would travel unencrypted over a network. */
      readonly isExposed: boolean;
    }
  | { readonly kind: "refused"; readonly reason: string };

export function parseGatewayUrl(text: string): GatewayUrl {
  if (text.length > MAX_URL_LENGTH) return { kind: "refused", reason: "the URL of the gateway is too long" };
  const parsed = parseAdminUrl(text);
  if (parsed.kind === "refused") return { kind: "refused", reason: `the URL of the gateway ${parsed.reason}` };
  return { ...parsed, isExposed: isExposed(new URL(parsed.url)) };
}

/** Returns whether the URL is plain HTTP to another machine. */
export function isExposed(url: URL): boolean {
  return url.protocol === "http:" && !isLoopback(url.hostname);
}

function isLoopback(hostname: string): boolean {
  if (hostname === "localhost" || hostname.endsWith(".localhost") || hostname === "[::1]") return true;
  return isIPv4(hostname) && hostname.startsWith("127.");
}
