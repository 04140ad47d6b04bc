/**
 * Detects requests from web pages that are not allowed to send them (DNS rebinding). Source: mcp reference, 8; MCP
 * specification, Streamable HTTP, Security.
 */
const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d+)?$/i;

export interface RequestOrigin {
  readonly host: string | undefined;
  readonly origin: string | undefined;
  /** True if the request arrived on a loopback address. */
  readonly isLoopback: boolean;
  /** Origin of `public_url`; `undefined` if it is not set. */
  readonly publicOrigin: string | undefined;
}

export function isForeignPage({ host, origin, isLoopback, publicOrigin }: RequestOrigin): boolean {
  const publicHost = publicOrigin === undefined ? undefined : hostOf(publicOrigin);
  const isOwnHost = (one: string): boolean => LOOPBACK.test(one) || sameText(one, publicHost);
  if (isLoopback && host !== undefined && !isOwnHost(host)) return true;
  if (origin === undefined) return false;
  if (isLoopback) return !isOwnHost(hostOf(origin) ?? "");
  return publicOrigin === undefined ? !sameText(hostOf(origin) ?? "", host) : !sameText(origin, publicOrigin);
}

const sameText = (one: string, other: string | undefined): boolean => one.toLowerCase() === other?.toLowerCase();

function hostOf(origin: string): string | undefined {
  return /^https?:\/\/([^/?#\s]+)$/i.exec(origin)?.[1];
}
