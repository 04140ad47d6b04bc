/** Secrets: files looked up for references and watched for changes; values sealed in the replicated state. */

export { deriveKeks, type Kek, type KekFile, type KekSources, type Keks, readKekFile, requestDigestOf } from "./kek.ts";
export type { Sealing } from "./keyring.ts";
export {
  type Plan,
  planDeleteSecret,
  planDropUnused,
  planPutAccount,
  planPutCertificate,
  planPutSecret,
  planReseal,
  planRewrap,
  planRotate,
} from "./plan.ts";
export type { SealedView } from "./rows.ts";
export { createSealedSecrets, type Opened, type SealedSecrets, type SealedStatus } from "./sealed.ts";
export {
  type Lookup,
  openSecrets,
  type Schedule,
  type Secrets,
  type SecretsOptions,
  STAND_IN,
  type WatchOptions,
} from "./secrets.ts";
