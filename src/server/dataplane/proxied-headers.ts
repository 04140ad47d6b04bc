/** What of an upstream's answer head the client is shown. */
import type { Bearing } from "../upstream/index.ts";
import { isHopByHop, lowerCase, namedByConnection } from "./headers.ts";

export interface ProxiedHeaders {
  readonly pairs: string[];
  readonly isEventStream: boolean;
  /** Not a number where none is declared. */
  readonly contentLength: number;
}

/** An upstream's headers for the client: names, values and order, less what belongs to its connection or only we say. */
export function proxiedHeaders(headers: readonly string[], bearsCredential: Bearing | undefined): ProxiedHeaders {
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
    if (bearsCredential?.(lower, value) === true) continue;
    if (lower === "content-type") isEventStream = value.toLowerCase().startsWith("text/event-stream");
    if (lower === "content-encoding") isEncoded = true;
    if (lower === "content-length") contentLength = Number(value);
    pairs.push(name, value);
  }
  const named = connection === undefined ? [] : namedByConnection(connection);
  // Only an event stream as it is can be added to.
  const kept = named.length === 0 ? pairs : without(pairs, named);
  return { pairs: kept, isEventStream: isEventStream && !isEncoded, contentLength };
}

function without(pairs: readonly string[], lowerCaseNames: readonly string[]): string[] {
  return pairs.filter((_, i) => !lowerCaseNames.includes((pairs[i - (i % 2)] as string).toLowerCase()));
}

/** What Node agrees to write in a status line; a phrase in UTF-8 or with controls says nothing that the status does not. */
export function isWritable(statusText: string): boolean {
  return /^[\t\x20-\x7e\x80-\xff]*$/.test(statusText);
}
