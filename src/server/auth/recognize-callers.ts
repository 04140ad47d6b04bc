/**
 * Recognizes data-plane callers. Lookups are answered from memory, and a refusal reveals nothing about the credential. Source:
 * specification document 1 (Authentication, data plane), document 3 (`auth`); design decisions, sections 1 and 2.
 */

import type { Clock, Instruments } from "../../base/index.ts";
import type { CallerFault, Callers, Identification, KeyStore } from "./caller.ts";
import { createCallerMetrics } from "./caller-metrics.ts";
import { credentialOf } from "./credential.ts";
import { createKeyCallers } from "./key-callers.ts";
import { createCachedVerifier, type TokenSource } from "./token-cache.ts";
import { createTokenCallers } from "./token-callers.ts";

/** Text with this prefix is a virtual key and never tried as a token. */
const KEY_PREFIX = "gwk_";

const NO_CREDENTIAL = refusal("no_credential");
const MALFORMED = refusal("malformed");

interface CallersOptions {
  readonly keys: KeyStore;
  /**
   * Returns the current verifier. A reload of issuers creates another one, and tokens verified by the previous one are forgotten.
   */
  readonly verifier: () => TokenSource;
  readonly clock: Clock;
  readonly instruments?: Instruments;
  /** See `KeyCallersOptions`. */
  readonly onKeyUse?: (keyId: string, at: number) => void;
}

export function createCallers({ keys, verifier, clock, instruments, onKeyUse }: CallersOptions): Callers {
  const tokens = createCachedVerifier(verifier, clock);
  const byKey = createKeyCallers({ keys, clock, onUse: onKeyUse });
  const byToken = createTokenCallers(tokens);
  const count = instruments && createCallerMetrics(instruments, tokens.size).count;

  function counted(identification: Identification): Identification {
    count?.(identification);
    return identification;
  }

  return {
    identify(presented, rules, servers, signal) {
      const credential = credentialOf(presented);
      if (credential.kind === "none") return counted(NO_CREDENTIAL);
      if (credential.kind === "malformed") return counted(MALFORMED);
      const { text } = credential;
      if (text.startsWith(KEY_PREFIX)) return counted(byKey.identify(text, rules.virtualKeys));
      const found = byToken.identify(text, rules, servers, signal);
      return found instanceof Promise ? found.then(counted) : counted(found);
    },
    recheck(caller, rules) {
      const found = rules.virtualKeys ? byKey.recheck(caller) : undefined;
      return found && counted(found);
    },
    isUnchanged: byKey.isUnchanged,
    lastUsedAt: byKey.lastUsedAt,
    recordUse: byKey.recordUse,
  };
}

function refusal(fault: CallerFault): Identification {
  return Object.freeze({ kind: "refused", fault, issuer: undefined });
}
