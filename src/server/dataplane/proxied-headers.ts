/** Selects the headers of an upstream's answer that the client receives. */
import type { ContainsCredential } from "../upstream/index.ts";
import { isHopByHop, lowerCase, namedByConnection } from "./headers.ts";

interface ProxiedHeaders {
  readonly pairs: string[];
  readonly isEventStream: boolean;
  /** Declared length; `NaN` if none was declared. */
  readonly contentLength: number;
}

/**
 * Returns the headers of an upstream's answer for the client with the same names, values and order, without hop-by-hop headers,
 * credentials and `x-gateway-` headers, which only the gateway may set.
 */
export function proxiedHeaders(
  headers: readonly string[],
  containsCredential: ContainsCredential | undefined,
): ProxiedHeaders {
  const pairs: string[] = [];
  let isEventStream = false;
  let isEncoded = false;
  let contentLength = Number.NaN;
  let connection: string | undefined;
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i] as string;
    const value = headers[i + 1] as string;
    const lower = lowerCase(name);
    if (lower === "connection") connection = value;
    if (isHopByHop(lower) || lower.startsWith("x-gateway-")) continue;
    if (containsCredential?.(lower, value) === true) continue;
    if (lower === "content-type") isEventStream = value.toLowerCase().startsWith("text/event-stream");
    if (lower === "content-encoding") isEncoded = true;
    if (lower === "content-length") contentLength = Number(value);
    pairs.push(name, value);
  }
  const named = connection === undefined ? [] : namedByConnection(connection);
  // Events can only be added to a stream that is not compressed.
  const endToEnd = named.length === 0 ? pairs : withoutHeaders(pairs, named);
  return { pairs: endToEnd, isEventStream: isEventStream && !isEncoded, contentLength };
}

function withoutHeaders(pairs: readonly string[], lowerCaseNames: readonly string[]): string[] {
  return pairs.filter((_, i) => !lowerCaseNames.includes((pairs[i - (i % 2)] as string).toLowerCase()));
}

/**
 * Returns whether Node can write the status text. A phrase in UTF-8 or with control characters is left out, because it adds
 * nothing to the status.
 */
export function isWritable(statusText: string): boolean {
  return /^[\t\x20-\x7e\x80-\xff]*$/.test(statusText);
}
