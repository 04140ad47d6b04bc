/** Keys and certificates that a cluster derives from its secret. */

export { startCertificateRenewal } from "./certificate-renewal.ts";
export { type ClusterKeys, deriveKeys, MIN_SECRET_LENGTH } from "./derived-keys.ts";
export { createIdentity, type DialCredential, type Identity, type IdentityOptions } from "./identity.ts";
export type { Peer } from "./subject.ts";
