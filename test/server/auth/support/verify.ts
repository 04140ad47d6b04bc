/** A verifier over test issuers, and its results. */

import { type Log, nullLog } from "../../../../src/base/index.ts";
import {
  createTokenVerifier,
  type IssuerOptions,
  type TokenMetrics,
  type TokenVerdict,
  type TokenVerifier,
} from "../../../../src/server/auth/index.ts";
import { type TestClock, testClock } from "./issuer.ts";

export interface TestVerifier extends AsyncDisposable {
  readonly clock: TestClock;
  verify(token: string): Promise<TokenVerdict>;
  /** The interface that a cache uses. */
  readonly source: Pick<TokenVerifier, "verify" | "isStillValid">;
  /** Returns `verified`, or the fault. */
  outcome(token: string): Promise<string>;
}

interface TestVerifierOptions {
  readonly log?: Log;
  readonly metrics?: TokenMetrics;
  readonly fetchTimeoutMs?: number;
}

export function testVerifier(issuers: readonly IssuerOptions[], options: TestVerifierOptions = {}): TestVerifier {
  const clock = testClock();
  const verifier = createTokenVerifier({ issuers, clock, log: nullLog, ...options });
  const verify = (token: string) => verifier.verify(token, AbortSignal.timeout(30_000));
  return {
    clock,
    verify,
    source: verifier,
    async outcome(token) {
      const verdict = await verify(token);
      return verdict.kind === "refused" ? verdict.fault : verdict.kind;
    },
    [Symbol.asyncDispose]: () => verifier.close(),
  };
}

interface RecordedLog extends Log {
  readonly lines: readonly { readonly level: string; readonly text: string }[];
}

export function recordedLog(): RecordedLog {
  const lines: { level: string; text: string }[] = [];
  const at = (level: string) => (message: string, fields: unknown) =>
    void lines.push({ level, text: `${message} ${JSON.stringify(fields)}` });
  return { lines, debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") };
}
