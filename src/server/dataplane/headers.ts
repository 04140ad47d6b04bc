/** Which headers cross the gateway. */

import { HOP_BY_HOP_HEADERS } from "../../base/index.ts";

const HOP_BY_HOP: ReadonlySet<string> = new Set(HOP_BY_HOP_HEADERS);

/** Header names come in few spellings; a bounded memory of them saves a lower-cased copy of each, each time. */
const MAX_SPELLINGS = 1_000;
const spellings = new Map<string, string>();

export function lowerCase(name: string): string {
  const known = spellings.get(name);
  if (known !== undefined) return known;
  const lower = name.toLowerCase();
  if (spellings.size < MAX_SPELLINGS) spellings.set(name, lower);
  return lower;
}

export function isHopByHop(lowerCaseName: string): boolean {
  return HOP_BY_HOP.has(lowerCaseName);
}

/** Lower-case names of the headers that a `connection` header makes hop-by-hop, besides the usual two. */
export function namedByConnection(connection: string): readonly string[] {
  if (connection === "keep-alive" || connection === "close") return [];
  return connection.toLowerCase().split(/\s*,\s*/);
}

/**
 * The client's headers for the upstream: same names, values and order, less those in `dropped` (which holds the
 * hop-by-hop ones) and those that `connection` names. `also`: more lower-case names to drop.
 */
export function upstreamHeaders(
  rawHeaders: readonly string[],
  connection: string | undefined,
  dropped: ReadonlySet<string>,
  also: readonly string[],
): string[] {
  const named = connection === undefined ? [] : namedByConnection(connection);
  const pairs: string[] = [];
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] as string;
    const lower = lowerCase(name);
    if (dropped.has(lower) || named.includes(lower) || also.includes(lower)) continue;
    // Some servers (CGI, WSGI) take an underscore for a hyphen.
    if (lower.includes("_") && dropped.has(lower.replaceAll("_", "-"))) continue;
    pairs.push(name, rawHeaders[i + 1] as string);
  }
  return pairs;
}
