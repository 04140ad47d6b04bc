/** Fetches an issuer's discovery document and keys once, for `gateway check`. */

import { keyLoader } from "./load-keys.ts";
import type { IssuerOptions, IssuerProbe } from "./types.ts";

interface ProbeOptions {
  /** Timeout for both documents together, in milliseconds. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/** Returns whether the issuer's keys can be loaded. Never rejects. */
export async function probeIssuer(issuer: IssuerOptions, { timeoutMs, signal }: ProbeOptions): Promise<IssuerProbe> {
  const found = await keyLoader(issuer)({ timeoutMs, signal });
  if (found.kind === "failed") return found;
  const { jwksUrl, keys } = found;
  if (keys.length > 0) return { kind: "ok", jwksUrl, keys: keys.length };
  return { kind: "failed", step: "keys", message: `${jwksUrl}: no key of the set can verify a token` };
}
