/** Secrets: files looked up for references and watched for changes; values sealed in the replicated state. */

export { deriveKeks, type Kek, readKekFile, requestDigestOf } from "./kek.ts";
export type { Sealing } from "./keyring.ts";
export { createSealedSecrets, type OpenedSecret, type SealedSecrets } from "./open-sealed.ts";
export {
  planDeleteSecret,
  planPutAccount,
  planPutCertificate,
  planPutSecret,
  planRewrap,
  type SecretPlan,
} from "./secret-commands.ts";
export { openSecrets, PLACEHOLDER_SECRET, type Schedule, type Secrets } from "./secrets.ts";
