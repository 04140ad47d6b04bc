/**
 * Addresses to listen on or dial, as Go writes them: `:8484`, `127.0.0.1:80`, `gateway.internal:443`, `[::1]:80`.
 *
 * A text that begins with the colon has no host: listen on every interface. Port 0 asks for a free one. An IPv6 address
 * is in brackets, to distinguish its colons from that of the port.
 */

export interface Address {
  /** Host without brackets, even for IPv6. */
  readonly host?: string;
  readonly port: number;
}

/** Pattern of a DNS name, which has at most 253 characters (RFC 1035 section 2.3.4). */
const NAME = /^[A-Za-z0-9_](?:[A-Za-z0-9._-]{0,251}[A-Za-z0-9_.])?$/;

/**
 * Pattern of an IPv6 address: groups and an optional zone, as in `fe80::1%eth0`. The URL parser decides whether the
 * groups are valid.
 */
const IPV6 = /^([0-9A-Fa-f:.]{2,45})(%[A-Za-z0-9._-]{1,32})?$/;

/** Parses `host:port` or `:port`. Returns `undefined` for anything else. */
export function parseAddress(text: string): Address | undefined {
  const match = /^(?:\[([^\]]+)\]|([^:[\]]*)):(\d{1,5})$/.exec(text);
  if (match === null) return undefined;
  const [, bracketed, name = "", digits] = match;
  const port = Number(digits);
  if (port > 65_535) return undefined;
  if (bracketed !== undefined) return isIpv6(bracketed) ? { host: bracketed, port } : undefined;
  if (name === "") return { port };
  return NAME.test(name) && isNotMistyped(name) ? { host: name, port } : undefined;
}

/** Formats an address, with brackets around IPv6. */
export function formatAddress({ host = "", port }: Address): string {
  return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
}

function isIpv6(text: string): boolean {
  const groups = IPV6.exec(text)?.[1];
  return groups !== undefined && URL.canParse(`http://[${groups}]/`);
}

/**
 * Returns false for a mistyped IPv4 address, such as `127.0.0.300`: a name whose last label is a number can only be an
 * address.
 */
function isNotMistyped(name: string): boolean {
  if (!/(^|\.)\d+$/.test(name)) return true;
  return /^(?:(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(?:\.(?!$)|$)){4}$/.test(name);
}
