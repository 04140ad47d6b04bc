/**
 * Resolves names, but never to link-local addresses, where cloud metadata services are: a person who can name an upstream must
 * not be able to read the machine's keys. Source: credentials reference, 6; design decisions, section 13.
 */
import { lookup } from "node:dns";
import { BlockList, isIP, type LookupFunction } from "node:net";

const FORBIDDEN = new BlockList();
FORBIDDEN.addSubnet("169.254.0.0", 16, "ipv4");
FORBIDDEN.addSubnet("0.0.0.0", 8, "ipv4");
FORBIDDEN.addSubnet("fe80::", 10, "ipv6");
FORBIDDEN.addSubnet("fd00:ec2::", 32, "ipv6");
FORBIDDEN.addAddress("::", "ipv6");

/**
 * Returns whether connecting to the address is forbidden. Only the credential source of the cloud platform itself may connect
 * to such addresses. `address`: IPv4 or IPv6, without brackets.
 */
export function isForbiddenAddress(address: string): boolean {
  const version = isIP(address);
  return version !== 0 && FORBIDDEN.check(address, version === 4 ? "ipv4" : "ipv6");
}

export class LinkLocal extends Error {
  constructor() {
    super("its address is link-local, where machines keep the keys of their cloud account");
  }
}

/** Resolves a name when a connection is opened. Only this address counts, even if the name resolved to another one earlier. */
export const guardedLookup: LookupFunction = (hostname, options, done) => {
  lookup(hostname, { ...options, all: true }, (error, addresses) => {
    if (error !== null) return done(error, []);
    if (addresses.some(({ address }) => isForbiddenAddress(address))) return done(new LinkLocal(), []);
    if (options.all === true) return done(null, addresses);
    const [first] = addresses;
    done(null, first?.address ?? "", first?.family);
  });
};
