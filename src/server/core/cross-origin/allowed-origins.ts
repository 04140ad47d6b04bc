/** Parses the origins of web pages. Sources: RFC 6454, section 6.2 (serialization); Secure Contexts, 3.1 (loopback). */

/** Value of `GATEWAY_CORS_ORIGINS` that allows no page of another origin. */
export const NO_CORS_ORIGINS = "none";

const ORIGIN = /^([a-z][a-z0-9+.-]*):\/\/([^\s/?#,@*]+)\/?$/i;
const LOOPBACK = /^(?:(?:[a-z0-9-]+\.)*localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d+)?$/;
/** IP address, with or without a port. */
const ADDRESS = /^(?:\d{1,3}(?:\.\d{1,3}){3}|\[[0-9a-f:.]+\])(?::\d+)?$/;
const DEFAULT_PORTS: Readonly<Record<string, RegExp>> = { http: /:80$/, https: /:443$/ };

export interface Origin {
  /** Origin in lower case, without a default port. */
  readonly text: string;
  readonly scheme: string;
  /** Host, followed by the port if it is not the default one. */
  readonly host: string;
}

/** Parses an origin. Returns `undefined` for `null` and for text that is not a single origin. */
export function readOrigin(text: string): Origin | undefined {
  const [, scheme = "", host = ""] = ORIGIN.exec(text) ?? [];
  if (scheme === "") return undefined;
  const lower = scheme.toLowerCase();
  const port = DEFAULT_PORTS[lower];
  const shown = port === undefined ? host.toLowerCase() : host.toLowerCase().replace(port, "");
  return { text: `${lower}://${shown}`, scheme: lower, host: shown };
}

export const isLoopbackOrigin = ({ scheme, host }: Origin): boolean =>
  (scheme === "http" || scheme === "https") && LOOPBACK.test(host);

/**
 * Returns whether the page came from the gateway itself. Only an address proves that: the owner of a name can point it at
 * this gateway (DNS rebinding).
 */
export const isOwnAddress = ({ scheme, host }: Origin, requestHost: string | undefined): boolean =>
  ADDRESS.test(host) && requestHost !== undefined && host === withoutPort(requestHost.toLowerCase(), scheme);

const withoutPort = (host: string, scheme: string): string => {
  const port = DEFAULT_PORTS[scheme];
  return port === undefined ? host : host.replace(port, "");
};
