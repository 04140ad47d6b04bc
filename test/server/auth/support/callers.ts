/** In-memory keys, rules that a test changes, and the outcome of a credential. */

import { randomBytes } from "node:crypto";
import {
  type AuthRules,
  type Callers,
  type Identification,
  type IssuerBinding,
  type KeyStore,
  mintKey,
  type PresentedCredentials,
  type StoredKey,
  type TokenVerifier,
} from "../../../../src/server/auth/index.ts";

interface MemoryKeys extends KeyStore {
  /** Mints a key and stores it; the text is what a client sends. */
  mint(changes?: Partial<StoredKey>): { readonly text: string; readonly stored: StoredKey };
  put(stored: StoredKey): void;
  remove(id: string): void;
  /** Requested ids in order. */
  readonly keyQueries: readonly string[];
}

export function memoryKeys(): MemoryKeys {
  const byId = new Map<string, StoredKey>();
  const keyQueries: string[] = [];
  return {
    keyQueries,
    findById(id) {
      keyQueries.push(id);
      return byId.get(id);
    },
    put: (stored) => void byId.set(stored.id, stored),
    remove: (id) => void byId.delete(id),
    mint(changes = {}) {
      const { id, text, digest } = mintKey(randomBytes);
      const stored = { id, name: `key-${id}`, profile: null, metadata: {}, digest, expires_at: null, ...changes };
      byId.set(id, stored);
      return { text, stored };
    },
  };
}

/** Accepts keys, and tokens of `corp` for `gateway` as users. */
export function testRules(changes: Partial<AuthRules> = {}): AuthRules {
  return { virtualKeys: true, issuers: [testBinding()], publicUrl: undefined, ...changes };
}

export function testBinding(changes: Partial<IssuerBinding> = {}): IssuerBinding {
  return { issuer: "corp", audience: "gateway", subject: "user", profile: undefined, profiles: undefined, ...changes };
}

export function presented(changes: Partial<PresentedCredentials>): PresentedCredentials {
  return { authorization: undefined, xApiKey: undefined, apiKey: undefined, protocolToken: undefined, ...changes };
}

export function bearer(text: string): PresentedCredentials {
  return presented({ authorization: `Bearer ${text}` });
}

interface IdentifyOptions {
  readonly rules?: AuthRules;
  readonly server?: string;
}

const RULES = testRules();

export async function identify(
  callers: Callers,
  from: PresentedCredentials,
  options: IdentifyOptions = {},
): Promise<Identification> {
  return callers.identify(
    from,
    options.rules ?? RULES,
    options.server === undefined ? undefined : [options.server],
    AbortSignal.timeout(30_000),
  );
}

/** Returns the kind of the caller, or the fault. */
export async function outcome(
  callers: Callers,
  from: PresentedCredentials,
  options: IdentifyOptions = {},
): Promise<string> {
  const found = await identify(callers, from, options);
  return found.kind === "caller" ? found.caller.kind : found.fault;
}

/** For tests in which no token may be verified. */
export const noVerifier: Pick<TokenVerifier, "verify" | "isStillValid"> = {
  isStillValid: () => false,
  verify: () => Promise.reject(new Error("no token is to be verified here")),
};
