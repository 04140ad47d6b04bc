/**
 * Credentials presented upstream: static keys, signatures and tokens.
 *
 * - `signing/`: AWS Signature Version 4, its keys and clocks
 * - `tokens/`: client credentials, token exchange and their caches
 */

export { type CompiledCredential, compileCredential, compileKey, type PresentedAt } from "./compile-credential.ts";
export { type Bearing, bearing } from "./credential-headers.ts";
export {
  type GuardedAnswer,
  type GuardedDialler,
  type GuardedRequest,
  openGuardedDialler,
} from "./guarded-dialler.ts";
export { guardedLookup } from "./guarded-lookup.ts";
export { openPresenter, type PresenterOptions } from "./presenter.ts";
export { CREDENTIAL_HEADERS, type KeyHeader, keyHeaders } from "./static-key.ts";
export type {
  ActingFor,
  Credential,
  CredentialKind,
  Outgoing,
  Presented,
  PresentedJudge,
  PresentedVerdict,
  Presenter,
  Rehearsal,
} from "./types.ts";
