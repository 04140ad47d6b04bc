/** Identities for tests; keys are derived once per secret, since that is slow on purpose. */

import {
  type ClusterKeys,
  createIdentity,
  deriveKeys,
  type Identity,
  type IdentityOptions,
} from "../../../../src/server/cluster/identity/index.ts";

export const SECRET = "correct horse battery staple 2026";
export const OTHER_SECRET = "another horse entirely, a brown one";

const derived = new Map<string, Promise<ClusterKeys>>();

export function keysOf(secret: string): Promise<ClusterKeys> {
  const keys = derived.get(secret) ?? deriveKeys(secret);
  derived.set(secret, keys);
  return keys;
}

export interface MadeOptions {
  readonly secret?: string;
  readonly previous?: string;
  readonly kind?: "node" | "cli";
  readonly now?: () => number;
}

export async function identityOf(id: string, options: MadeOptions = {}): Promise<Identity> {
  const { secret = SECRET, previous, kind = "node", now } = options;
  const made: IdentityOptions = {
    keys: await keysOf(secret),
    subject: { kind, id },
    ...(previous === undefined ? {} : { previousKeys: await keysOf(previous) }),
    ...(now === undefined ? {} : { now }),
  };
  return createIdentity(made);
}
