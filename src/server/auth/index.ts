/** Who calls: virtual keys, and tokens of trusted issuers. */

export { type ProbeOptions, probeIssuer } from "./probe-issuer.ts";
export { createTokenMetrics, type TokenMetrics } from "./token-metrics.ts";
export { createTokenVerifier, type TokenVerifierOptions } from "./token-verifier.ts";
export type { IssuerOptions, IssuerProbe, TokenFault, TokenVerdict, TokenVerifier, VerifiedToken } from "./types.ts";
export { digestOf, isSameDigest, type MintedKey, mintKey, parseKey, type VirtualKey } from "./virtual-key.ts";
