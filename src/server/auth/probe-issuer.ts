/** Asks an issuer for what verifying its tokens needs, once: for `gateway check`. */

import { keyLoader } from "./load-keys.ts";
import type { IssuerOptions, IssuerProbe } from "./types.ts";

export interface ProbeOptions {
  /** Milliseconds for both documents together. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/** Never rejects. */
export async function probeIssuer(issuer: IssuerOptions, { timeoutMs, signal }: ProbeOptions): Promise<IssuerProbe> {
  const found = await keyLoader(issuer)({ limitMs: timeoutMs, signal });
  if (found.kind === "failed") return found;
  const { jwksUrl, keys } = found;
  if (keys.length > 0) return { kind: "ok", jwksUrl, keys: keys.length };
  return { kind: "failed", step: "keys", message: `${jwksUrl}: no key of the set can verify a token` };
}
