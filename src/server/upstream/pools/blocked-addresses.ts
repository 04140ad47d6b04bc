/**
 * Lists addresses that may not be members of a pool. DNS answers come from outside: they must lead neither to the metadata
 * service of the cloud that the gateway runs in, nor back to the gateway. Private and loopback addresses are normal for an
 * operator's own servers, and are allowed as in a `base_url`.
 */
import { BlockList, isIPv4, isIPv6 } from "node:net";
import { networkInterfaces } from "node:os";

interface BlockedKind {
  /** Description with its article, used before "address". */
  readonly description: string;
  readonly list: BlockList;
}

/** Blocked kinds (RFC 6890, RFC 4291). The last link-local address is the IPv6 metadata service of a large cloud. */
const KINDS: readonly BlockedKind[] = [
  kind("an unspecified", ["0.0.0.0/8", "::/128"]),
  kind("a link-local", ["169.254.0.0/16", "fe80::/10", "fd00:ec2::254/128"]),
  kind("a multicast", ["224.0.0.0/4", "ff00::/8"]),
  kind("a reserved", ["240.0.0.0/4"]),
];

const LOOPBACK = kind("a loopback", ["127.0.0.0/8", "::1/128"]).list;

function kind(description: string, networks: readonly string[]): BlockedKind {
  const list = new BlockList();
  for (const network of networks) {
    const [address = "", bits = ""] = network.split("/");
    list.addSubnet(address, Number(bits), isIPv4(address) ? "ipv4" : "ipv6");
  }
  return { description, list };
}

const has = (list: BlockList, address: string): boolean => list.check(address, isIPv6(address) ? "ipv6" : "ipv4");

/** Returns the kind of a blocked address with its article, or `undefined` if the address is allowed. */
export function blockedKind(address: string): string | undefined {
  const forms = [address, ...embedded(address)];
  return KINDS.find(({ list }) => forms.some((form) => has(list, form)))?.description;
}

export const isLoopback = (address: string): boolean =>
  [address, ...embedded(address)].some((form) => has(LOOPBACK, form));

/** Returns the IPv4 addresses that an IPv6 address leads to: mapped (RFC 4291), translated (RFC 6052), 6to4 (RFC 3056). */
function embedded(address: string): readonly string[] {
  if (!isIPv6(address)) return [];
  const groups = groupsOf(address);
  const [first, second] = groups;
  const isMapped = groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff;
  const isCompatible = groups.slice(0, 6).every((group) => group === 0) && (groups[6] ?? 0) !== 0;
  const isTranslated = first === 0x64 && second === 0xff9b;
  if (isMapped || isCompatible || isTranslated) return [dotted(groups[6], groups[7])];
  return first === 0x2002 ? [dotted(second, groups[2])] : [];
}

/** Returns the eight groups of an IPv6 address, without its zone. */
function groupsOf(address: string): readonly number[] {
  const [plain = ""] = address.split("%");
  const hex = plain.replace(/\d+\.\d+\.\d+\.\d+$/, (quad) => {
    const [a = 0, b = 0, c = 0, d = 0] = quad.split(".").map(Number);
    return `${((a << 8) | b).toString(16)}:${((c << 8) | d).toString(16)}`;
  });
  const [left = "", right] = hex.split("::");
  const read = (text: string): number[] =>
    text === "" ? [] : text.split(":").map((group) => Number.parseInt(group, 16));
  const before = read(left);
  const after = right === undefined ? [] : read(right);
  return [...before, ...Array<number>(Math.max(0, 8 - before.length - after.length)).fill(0), ...after];
}

const dotted = (high = 0, low = 0): string => `${high >> 8}.${high & 255}.${low >> 8}.${low & 255}`;

/**
 * Returns a function that returns true for an address at which a listener of this gateway answers. `bound`: `host:port` of each
 * listener.
 */
export function ownListeners(bound: readonly string[]): (address: string, port: number) => boolean {
  const listeners = bound.flatMap((address) => {
    const at = address.lastIndexOf(":");
    const port = Number(address.slice(at + 1));
    return at < 0 || !Number.isInteger(port) ? [] : [{ host: address.slice(0, at).replace(/^\[|\]$/g, ""), port }];
  });
  return (address, port) =>
    listeners.some(({ host, port: own }) => {
      if (own !== port) return false;
      return host === address || ((host === "0.0.0.0" || host === "::" || host === "") && isOfThisMachine(address));
    });
}

const isOfThisMachine = (address: string): boolean =>
  isLoopback(address) ||
  Object.values(networkInterfaces()).some((all) => all?.some(({ address: own }) => own === address) === true);
