/** Recognizes addresses of private networks: RFC 1918, RFC 6598, RFC 4193, link-local. */
import { lookup } from "node:dns";
import { BlockList, isIP } from "node:net";

const PRIVATE = new BlockList();
for (const [net, bits] of [
  ["0.0.0.0", 8],
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["127.0.0.0", 8],
  ["169.254.0.0", 16],
  ["172.16.0.0", 12],
  ["192.168.0.0", 16],
] as const) {
  PRIVATE.addSubnet(net, bits, "ipv4");
}
for (const [net, bits] of [
  ["::", 127],
  ["fc00::", 7],
  ["fe80::", 10],
] as const) {
  PRIVATE.addSubnet(net, bits, "ipv6");
}

/** Returns whether an address is private, or `undefined` for a name, which has to be resolved first. */
export function isPrivateAddress(host: string): boolean | undefined {
  const version = isIP(host);
  return version === 0 ? undefined : PRIVATE.check(host, version === 4 ? "ipv4" : "ipv6");
}

/**
 * Resolves a name and reports whether it is private. A name that does not resolve here is not: behind a proxy, public names
 * often resolve only there.
 */
export function resolvesToPrivate(name: string, done: (isPrivate: boolean) => void): void {
  lookup(name, { all: true }, (error, addresses) => {
    done(error === null && addresses.some(({ address }) => isPrivateAddress(address) === true));
  });
}
