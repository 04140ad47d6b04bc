export { deploymentChecks, operationChecks, unknownName } from "./checks/index.ts";
export type { Credential } from "./credentials.ts";
export { type Deployment, deploymentSchema, editionSchema } from "./deployment.ts";
export type { Detector as DetectorConfig, GuardrailRule, Guardrails } from "./guardrails/index.ts";
export { NAMED_LISTS, type NamedList } from "./named-lists.ts";
export { type CatalogOverlay, type ChannelOperation, overlaySchema, type ProviderOperation } from "./overlays.ts";
export { type Failover, type ProviderConfig, providerName, type Retry } from "./providers.ts";
export { type Reconcile, type ReconcilePeriods, reconcilePeriods } from "./reconcile.ts";
export type { Trigger } from "./terms.ts";
