/** Whether an address to listen on can be reached from anywhere. Source: RFC 6890; RFC 4193; RFC 6598. */

/** Private, loopback, link-local and shared networks, and the wildcard address, whose reach is unknown. */
const NEAR_IPV4 =
  /^(?:0\.0\.0\.0$|10\.|127\.|169\.254\.|192\.168\.|172\.(?:1[6-9]|2\d|3[01])\.|100\.(?:6[4-9]|[7-9]\d|1[01]\d|12[0-7])\.)/;
const NEAR_IPV6 = /^(?:[0:]+1?$|f[cd]|fe[89ab])/i;

/** Returns false for names, whose address is unknown. `host`: without brackets; empty means every interface. */
export function isPublicAddress(host: string): boolean {
  if (/^\d+(?:\.\d+){3}$/.test(host)) return !NEAR_IPV4.test(host);
  if (!host.includes(":")) return false;
  const mapped = /^::ffff:(\d+(?:\.\d+){3})$/i.exec(host)?.[1];
  return mapped === undefined ? !NEAR_IPV6.test(host) : isPublicAddress(mapped);
}
