/** Authentication of callers: virtual keys and tokens of trusted issuers. */

export {
  ANONYMOUS,
  type AuthRules,
  type Caller,
  type Callers,
  type Identification,
  type IssuerBinding,
  type KeyStore,
  type PresentedCredentials,
  type StoredKey,
} from "./caller.ts";
export { profileOf } from "./claims-to-caller.ts";
export { credentialOf, presentedCredentials } from "./credential.ts";
export { probeIssuer } from "./probe-issuer.ts";
export { createCallers } from "./recognize-callers.ts";
export { challengeOf, protectedResourceMetadata } from "./resources.ts";
export { createCachedVerifier } from "./token-cache.ts";
export { type FindTokenEndpoint, type TokenEndpoint, tokenEndpointFinder } from "./token-endpoint.ts";
export { createTokenMetrics, type TokenMetrics } from "./token-metrics.ts";
export { createTokenVerifier } from "./token-verifier.ts";
export type { IssuerOptions, IssuerProbe, TokenFault, TokenVerdict, TokenVerifier, VerifiedToken } from "./types.ts";
export { digestOf, isSameDigest, mintKey, parseKey } from "./virtual-key.ts";
