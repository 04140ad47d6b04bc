/**
 * Decides which MCP server gets a registry name that several request: the one with the highest version, and the later entry if
 * versions are equal. Source: specification document 3, `mcp[].registry.version`; design decisions, section 20. Semantic
 * versions compare by Semantic Versioning 2.0.0, section 11.
 */

interface Server {
  readonly registry?: { readonly name: string; readonly version?: string | undefined } | undefined;
}

/** Returns the index of the owner by registry name. */
export function registryOwners(servers: readonly Server[]): ReadonlyMap<string, number> {
  const owners = new Map<string, number>();
  for (const [at, { registry }] of servers.entries()) {
    if (registry === undefined) continue;
    const before = owners.get(registry.name);
    const known = before === undefined ? undefined : servers[before]?.registry?.version;
    if (before === undefined || compareVersions(registry.version, known) >= 0) owners.set(registry.name, at);
  }
  return owners;
}

const NO_VERSION = "0.0.0";

/** Returns a number below, at or above zero if the first version is lower, equal or higher. */
export function compareVersions(one: string | undefined, other: string | undefined): number {
  const [first, second] = [partsOf(one || NO_VERSION), partsOf(other || NO_VERSION)];
  const byRelease = compareLists(first.release, second.release, "0");
  if (byRelease !== 0) return byRelease;
  if (first.before.length === 0 || second.before.length === 0) return second.before.length - first.before.length;
  return compareLists(first.before, second.before, undefined);
}

function partsOf(version: string): { readonly release: readonly string[]; readonly before: readonly string[] } {
  const [whole = ""] = version
    .trim()
    .replace(/^v(?=\d)/i, "")
    .split("+");
  const [release = "", ...before] = whole.split("-");
  return { release: release.split("."), before: before.length === 0 ? [] : before.join("-").split(".") };
}

/** Compares two lists. `missing` replaces a part that one list lacks; if it is `undefined`, the shorter list is lower. */
function compareLists(one: readonly string[], other: readonly string[], missing: string | undefined): number {
  for (let at = 0; at < Math.max(one.length, other.length); at += 1) {
    const [first, second] = [one[at] ?? missing, other[at] ?? missing];
    if (first === undefined || second === undefined) return one.length - other.length;
    const order = comparePart(first, second);
    if (order !== 0) return order;
  }
  return 0;
}

/** Compares two parts. Numbers are lower than words. */
function comparePart(one: string, other: string): number {
  const [first, second] = [/^\d+$/.test(one), /^\d+$/.test(other)];
  if (first && second) return BigInt(one) === BigInt(other) ? 0 : BigInt(one) < BigInt(other) ? -1 : 1;
  if (first !== second) return first ? -1 : 1;
  return one === other ? 0 : one < other ? -1 : 1;
}
