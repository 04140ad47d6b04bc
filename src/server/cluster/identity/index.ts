/** Keys and certificates that a cluster derives from its secret. */

export { createIdentity, type Face, type Identity, type IdentityOptions, type PeerRefusal } from "./identity.ts";
export { ADVISED_SECRET_LENGTH, type ClusterKeys, deriveKeys, MIN_SECRET_LENGTH } from "./keys.ts";
export { keepFresh, type RenewalOptions } from "./renewal.ts";
export type { Peer, Subject } from "./subject.ts";
