/** Authentication of callers: virtual keys and tokens of trusted issuers. */

export {
  ANONYMOUS,
  type AuthRules,
  type Caller,
  type CallerAgent,
  type CallerFault,
  type CallerKey,
  type Callers,
  type CallerUser,
  type Identification,
  type IssuerBinding,
  type KeyStore,
  type PresentedCredentials,
  type StoredKey,
} from "./caller.ts";
export { profileOf } from "./claims-to-caller.ts";
export { credentialOf, presentedCredentials } from "./credential.ts";
export { type ProbeOptions, probeIssuer } from "./probe-issuer.ts";
export { type CallersOptions, createCallers } from "./recognize-callers.ts";
export { challengeOf, protectedResourceMetadata, type ResourceMetadata } from "./resources.ts";
export { type CachedVerifier, createCachedVerifier, type TokenSource } from "./token-cache.ts";
export { type FindTokenEndpoint, type TokenEndpoint, tokenEndpointFinder } from "./token-endpoint.ts";
export { createTokenMetrics, type TokenMetrics } from "./token-metrics.ts";
export { createTokenVerifier, type TokenVerifierOptions } from "./token-verifier.ts";
export type { IssuerOptions, IssuerProbe, TokenFault, TokenVerdict, TokenVerifier, VerifiedToken } from "./types.ts";
export { digestOf, isSameDigest, type MintedKey, mintKey, parseKey, type VirtualKey } from "./virtual-key.ts";
