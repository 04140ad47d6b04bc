/**
 * Credentials presented upstream: static keys, signatures and tokens.
 *
 * - `signing/`: AWS Signature Version 4, its keys and clocks
 * - `tokens/`: client credentials, token exchange and their caches
 */

export { compileCredential, compileKey } from "./compile-credential.ts";
export type { ContainsCredential } from "./credential-headers.ts";
export {
  type GuardedAnswer,
  type GuardedDialer,
  type GuardedRequest,
  openGuardedDialer,
} from "./guarded-dialer.ts";
export { guardedLookup } from "./guarded-lookup.ts";
export { openPresenter, type PresenterOptions } from "./presenter.ts";
export { CREDENTIAL_HEADERS, keyHeaders } from "./static-key.ts";
export type {
  Credential,
  PresentedCredential,
  PresentedJudge,
  PresentedVerdict,
  Presenter,
  RequestCaller,
} from "./types.ts";
