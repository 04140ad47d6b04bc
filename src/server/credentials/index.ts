export { type CompiledCredential, compileCredential, compileKey, type PresentedAt } from "./compile.ts";
export { type Bearing, bearing } from "./credential-headers.ts";
export {
  type GuardedAnswer,
  type GuardedDialler,
  type GuardedRequest,
  openGuardedDialler,
} from "./guarded-dialler.ts";
export { guardedLookup } from "./guarded-lookup.ts";
export { openPresenter, type PresenterOptions } from "./presenter.ts";
export { CREDENTIAL_HEADERS, type KeyHeader, keyHeaders } from "./static.ts";
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
