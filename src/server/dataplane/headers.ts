/** Rules for the headers that the gateway forwards. */

import { HOP_BY_HOP_HEADERS } from "../../base/index.ts";

const HOP_BY_HOP: ReadonlySet<string> = new Set(HOP_BY_HOP_HEADERS);

/** Maximum size of the cache of lower-cased header names. Names come in few spellings, so the cache saves a copy per use. */
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

/**
 * Returns the lower-case names of the headers that a `connection` header makes hop-by-hop; none for the usual values
 * `keep-alive` and `close`.
 */
export function namedByConnection(connection: string): readonly string[] {
  if (connection === "keep-alive" || connection === "close") return [];
  return connection.toLowerCase().split(/\s*,\s*/);
}

/**
 * Returns the client's headers for the upstream with the same names, values and order, without those in `dropped` (which
 * includes the hop-by-hop headers), those that `connection` names and those in `also` (lower-case names).
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
    // Some servers (CGI, WSGI) treat an underscore like a hyphen.
    if (lower.includes("_") && dropped.has(lower.replaceAll("_", "-"))) continue;
    pairs.push(name, rawHeaders[i + 1] as string);
  }
  return pairs;
}
