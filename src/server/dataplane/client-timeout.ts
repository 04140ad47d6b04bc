import type { IncomingMessage } from "node:http";

/**
 * Returns the client's timeout in milliseconds, which the official SDKs send in seconds, or `undefined` if the client sent
 * none.
 */
export function clientTimeoutOf({ headers }: IncomingMessage): number | undefined {
  const seconds = Number(headers["x-stainless-timeout"]);
  return seconds > 0 ? seconds * 1_000 : undefined;
}
