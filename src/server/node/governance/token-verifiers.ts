/**
 * Verification of tokens by the issuers of the node file, for the data plane and the admin plane. Source: specification
 * document 2 (`issuers`).
 */
import type { Clock, Instruments, Lifetime, Log } from "../../../base/index.ts";
import { createTokenMetrics, createTokenVerifier, type IssuerOptions, type TokenVerifier } from "../../auth/index.ts";
import type { NodeFile } from "../../core/config/index.ts";
import { issuersOf } from "./issuers.ts";

/** Time in which running token checks finish after the issuers have changed, in milliseconds. */
const RETIRE_MS = 10_000;

export interface TokenVerifiers {
  /** Returns the verifier; a new object after the issuers have changed, which invalidates results of the previous one. */
  verifier(): TokenVerifier;
  /** Returns an issuer, the same object until the issuers change; `undefined` for a name that the node file does not have. */
  issuer(name: string): IssuerOptions | undefined;
  /** Replaces the issuers by those of a node file that was read again. */
  setNodeFile(nodeFile: NodeFile): void;
}

interface TokensOptions {
  readonly nodeFile: NodeFile;
  /** Path of the node file. */
  readonly path: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  readonly instruments: Instruments;
  readonly log: Log;
}

/** Opens the tokens; `owner` closes them. */
export function openTokens(
  { nodeFile, path, env, clock, instruments, log }: TokensOptions,
  owner: Lifetime,
): TokenVerifiers {
  const metrics = createTokenMetrics(instruments);
  let issuers = issuersOf(nodeFile, path, env);
  let verifier = createTokenVerifier({ issuers, clock, log, metrics });
  const retiring = new Set<NodeJS.Timeout>();
  owner.own("token verifier", undefined, () => {
    for (const timer of retiring) clearTimeout(timer);
    return verifier.close();
  });
  return {
    verifier: () => verifier,
    issuer: (name) => issuers.find((it) => it.name === name),
    setNodeFile(next) {
      // A new verifier has no keys yet: if an issuer is unreachable now, its callers would be refused.
      const named = issuersOf(next, path, env);
      if (JSON.stringify(named) === JSON.stringify(issuers)) return;
      const before = verifier;
      issuers = named;
      verifier = createTokenVerifier({ issuers, clock, log, metrics });
      const retired = setTimeout(() => {
        retiring.delete(retired);
        before.close().catch((error: unknown) => log.warn("could not close", { name: "token verifier", error }));
      }, RETIRE_MS);
      retiring.add(retired.unref());
    },
  };
}
