/**
 * Parses an agent's own card and prepares it for publication: removes what reveals the agent's real addresses, and refuses what
 * cannot be canonicalized. Source: a2a reference, 8 and 9; RFC 8785, 3.2.
 */

export type OwnCardReading =
  | { readonly kind: "read"; readonly card: unknown }
  /** `problem` does not quote the card. */
  | { readonly kind: "refused"; readonly problem: string };

const MAX_DEPTH = 64;
const WITHHELD = "[withheld]";

class UnusableCard extends Error {}

/**
 * Parses an agent's own card. A string that is an address of the agent is removed; in other strings the agent's host is
 * replaced.
 *
 * `addresses` are the URLs at which the agent is called, in addition to those in the card. The host of `publicUrl`, the
 * gateway's own address, is not hidden.
 */
export function readOwnCard(text: string, addresses: readonly string[], publicUrl: string): OwnCardReading {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    return { kind: "refused", problem: "it is not JSON" };
  }
  const hidden = hostPattern([...addresses, ...interfacesOf(parsed)], publicUrl);
  try {
    return { kind: "read", card: sanitize(parsed, hidden, 0) };
  } catch (error) {
    if (error instanceof UnusableCard) return { kind: "refused", problem: error.message };
    throw error;
  }
}

function sanitize(value: unknown, hidden: RegExp | undefined, depth: number): unknown {
  if (depth > MAX_DEPTH) throw new UnusableCard(`it is nested deeper than ${MAX_DEPTH}`);
  if (typeof value === "string") return sanitizeText(value, hidden);
  if (typeof value === "number" && !Number.isFinite(value))
    throw new UnusableCard("it contains a number that is too large");
  if (Array.isArray(value)) {
    return value.map((item) => sanitize(item, hidden, depth + 1)).filter((item) => item !== undefined);
  }
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, member]) => {
      // The member `url` is kept because only it identifies a card of an old revision.
      const isOldAddress = depth === 0 && name === "url";
      const key = sanitizeText(name, hidden);
      const kept = sanitize(member, isOldAddress ? undefined : hidden, depth + 1);
      return key === undefined || kept === undefined ? [] : [[key, kept] as const];
    }),
  );
}

function sanitizeText(text: string, hidden: RegExp | undefined): string | undefined {
  const wellFormed = text.toWellFormed();
  if (hidden === undefined || wellFormed.search(hidden) < 0) return wellFormed;
  return /^[a-z][a-z0-9+.-]*:\/\/\S*$/i.test(wellFormed.trim()) ? undefined : wellFormed.replace(hidden, WITHHELD);
}

function interfacesOf(card: unknown): readonly string[] {
  if (typeof card !== "object" || card === null) return [];
  const { supportedInterfaces: interfaces, url } = card as Record<string, unknown>;
  const named = Array.isArray(interfaces)
    ? interfaces.map((one: unknown) => (one as { url?: unknown } | null)?.url)
    : [];
  return [...named, url].filter((one): one is string => typeof one === "string").slice(0, MAX_ADDRESSES);
}

const MAX_ADDRESSES = 32;

function hostPattern(addresses: readonly string[], publicUrl: string): RegExp | undefined {
  const publicAddress = new URL(publicUrl);
  const forms = addresses.flatMap((address) => {
    if (!URL.canParse(address)) return [];
    const { host, hostname, port } = new URL(address);
    if (hostname === "" || host === publicAddress.host) return [];
    const name = escaped(hostname);
    const own = `(?<![\\w.-])${name}`;
    if (hostname === publicAddress.hostname) return port === "" ? [] : [`${own}:${port}(?!\\d)`];
    // A host name of one label can also be an ordinary word, so it is replaced only after `//` or before a port.
    if (!/[.:]/.test(hostname))
      return [`//${name}(?::\\d+)?(?![\\w.-])`, ...(port === "" ? [] : [`${own}:${port}(?!\\d)`])];
    return [`${own}(?::\\d+)?(?![\\w-])`];
  });
  return forms.length === 0 ? undefined : new RegExp([...new Set(forms)].join("|"), "gi");
}

const escaped = (text: string): string => text.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&");
