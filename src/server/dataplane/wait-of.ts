import type { IncomingMessage } from "node:http";

/** How long the client will wait, in milliseconds: the official SDKs send it, in seconds. Undefined: it does not say. */
export function waitOf({ headers }: IncomingMessage): number | undefined {
  const seconds = Number(headers["x-stainless-timeout"]);
  return seconds > 0 ? seconds * 1_000 : undefined;
}
