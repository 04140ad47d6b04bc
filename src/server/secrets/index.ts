/** Secrets: files looked up for references and watched for changes; values sealed in the replicated state. */

export { deriveKeks, type Kek, type KekFile, type KekSources, type Keks, readKekFile, requestDigestOf } from "./kek.ts";
export type { Sealing } from "./keyring.ts";
export { createSealedSecrets, type OpenedSecret, type SealedSecrets, type SealedStatus } from "./open-sealed.ts";
export type { SealedView } from "./sealed-rows.ts";
export {
  planDeleteSecret,
  planPutAccount,
  planPutCertificate,
  planPutSecret,
  planRewrap,
  type SecretPlan,
} from "./secret-commands.ts";
export {
  type Lookup,
  openSecrets,
  PLACEHOLDER_SECRET,
  type Schedule,
  type Secrets,
  type SecretsOptions,
  type WatchOptions,
} from "./secrets.ts";
