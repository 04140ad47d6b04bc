/** Keys and certificates that a cluster derives from its secret. */

export { createIdentity, type Face, type Identity, type IdentityOptions } from "./identity.ts";
export { type ClusterKeys, deriveKeys, MIN_SECRET_LENGTH } from "./keys.ts";
export { keepFresh } from "./renewal.ts";
export type { Peer } from "./subject.ts";
