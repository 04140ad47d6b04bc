/**
 * Recognizes callers by virtual key. Source: specification document 3 (`auth.virtual_keys`); design decisions, section 1.
 *
 * Text that is not a key fails at the checksum. After that the work is the same whether the key is unknown, expired, has another
 * secret or is valid, and whether keys are accepted at all: a lookup, a hash, a comparison in constant time (with a dummy digest
 * for an unknown key) and a look at the clock. So response times do not reveal which ids exist, except for CPU cache effects:
 * about 0.3 microseconds at the first look at a row, and 0.02 after it.
 */

import { type Clock, FifoMap } from "../../base/index.ts";
import type { Caller, CallerFault, Identification, KeyStore, StoredKey } from "./caller.ts";
import { digestOf, isSameDigest, parseKey } from "./virtual-key.ts";

const MINUTE_MS = 60_000;

/** Dummy row to compare with for an unknown key. No secret can be found that hashes to it. */
const NO_KEY: Pick<StoredKey, "digest" | "expires_at"> = { digest: "0".repeat(64), expires_at: null };

/**
 * Maximum number of keys whose last use is kept, about 100 bytes each. Beyond it, the keys that were first used longest ago are
 * forgotten.
 */
const MAX_USES = 1 << 18;

interface KeyCallers {
  identify(text: string, areAccepted: boolean): Identification;
  /** See `Callers`. */
  recheck(caller: Caller): Identification | undefined;
  /** See `Callers`. */
  isUnchanged(caller: Caller): boolean;
  /** See `Callers`. */
  recordUse(keyId: string, at: number): void;
  /** See `Callers`. */
  lastUsedAt(keyId: string): number | undefined;
}

/** Last use of a key, which survives changes to the key. */
interface LastUse {
  /** Minutes since 1970. A small integer is written without allocating. */
  minute: number;
}

/** Caller of an accepted key, with its identification and last use. */
interface KnownCaller {
  readonly caller: Caller;
  readonly identification: Identification;
  readonly use: LastUse;
}

interface KeyCallersOptions {
  readonly keys: KeyStore;
  readonly clock: Clock;
  readonly maxUses?: number;
  /** Called for the first use in each minute, with milliseconds since 1970. */
  readonly onUse?: ((keyId: string, at: number) => void) | undefined;
}

export function createKeyCallers({ keys, clock, maxUses = MAX_USES, onUse }: KeyCallersOptions): KeyCallers {
  /** Entries live as long as the store keeps the row, so the store bounds their number. */
  const byRow = new WeakMap<StoredKey, KnownCaller>();
  const uses = new FifoMap<string, LastUse>();
  const digests = new WeakMap<Caller, string>();

  function addKnown(stored: StoredKey): KnownCaller {
    const caller = callerOf(stored);
    digests.set(caller, stored.digest);
    const known: KnownCaller = {
      caller,
      identification: Object.freeze({ kind: "caller", caller }),
      use: lastUseOf(stored.id),
    };
    byRow.set(stored, known);
    return known;
  }

  function lastUseOf(id: string): LastUse {
    const before = uses.get(id);
    if (before !== undefined) return before;
    const use: LastUse = { minute: 0 };
    uses.set(id, use);
    const oldest = uses.size > maxUses ? uses.oldest() : undefined;
    if (oldest !== undefined) uses.delete(oldest.key);
    return use;
  }

  function acceptUse({ identification, use }: KnownCaller, id: string, now: number): Identification {
    const minute = Math.floor(now / MINUTE_MS);
    if (use.minute !== minute) {
      use.minute = minute;
      onUse?.(id, minute * MINUTE_MS);
    }
    return identification;
  }

  return {
    identify(text, areAccepted) {
      const key = parseKey(text);
      if (key === undefined) return MALFORMED;
      const stored = keys.findById(key.id);
      const { digest, expires_at } = stored ?? NO_KEY;
      const isSame = isSameDigest(digestOf(key.secret), digest);
      const now = clock.now();
      const isExpired = expires_at !== null && now >= expires_at;
      const named = { id: key.id, name: stored?.name };
      if (!areAccepted) return refusal("keys_not_accepted", named);
      if (stored === undefined || !isSame) return refusal("unknown_key", named);
      if (isExpired) return refusal("expired_key", named);
      return acceptUse(byRow.get(stored) ?? addKnown(stored), key.id, now);
    },

    recheck(caller) {
      const stored = caller.key && keys.findById(caller.key.id);
      const known = stored && byRow.get(stored);
      if (stored === undefined || known?.caller !== caller) return undefined; // a changed row has a new `Caller` object
      const now = clock.now();
      return now < (stored.expires_at ?? Number.POSITIVE_INFINITY) ? acceptUse(known, stored.id, now) : undefined;
    },

    isUnchanged(caller) {
      if (caller.key === undefined) return true;
      const stored = keys.findById(caller.key.id);
      // A key whose profile has changed is still the same key. One whose secret has changed is not, even with the same id.
      const isSame = stored !== undefined && stored.digest === digests.get(caller);
      return isSame && clock.now() < (stored.expires_at ?? Number.POSITIVE_INFINITY);
    },

    recordUse(keyId, at) {
      const use = lastUseOf(keyId);
      use.minute = Math.max(use.minute, Math.floor(at / MINUTE_MS));
    },

    lastUsedAt(keyId) {
      const use = uses.get(keyId);
      return use === undefined ? undefined : use.minute * MINUTE_MS;
    },
  };
}

const MALFORMED: Identification = Object.freeze({ kind: "refused", fault: "malformed", issuer: undefined });

function refusal(fault: CallerFault, key: { readonly id: string; readonly name: string | undefined }): Identification {
  return { kind: "refused", fault, issuer: undefined, key };
}

function callerOf({ id, name, metadata, profile }: StoredKey): Caller {
  return Object.freeze({
    kind: "key",
    key: Object.freeze({ id, name, metadata }),
    agent: undefined,
    user: undefined,
    issuer: undefined,
    profile: profile ?? undefined,
    principal: id,
    onlyServer: undefined,
  });
}
