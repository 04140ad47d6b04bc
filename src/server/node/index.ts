/**
 * Composition root: opens every part in order, joins their ports and closes them in reverse.
 *
 * - `admin/`: ports of the admin plane
 * - `cluster/`: the node file's `cluster`, its metrics, keys and removal
 * - `configuration/`: documents read, compiled and put in force
 * - `governance/`: callers, suspensions, budgets and usage over the replicated state
 * - `rehearsal/`: rehearsals over the records of all nodes
 * - `tls/`: certificate and TLS of the data listener
 * - `worker/`: the program of a worker process, and its node's side
 */

export { type PolicyRead, readPolicy } from "./admin/open-admin-plane.ts";
export { type ClusterInputs, clusterOptionsOf } from "./cluster/cluster-options.ts";
export { keySourcesOf } from "./cluster/sealing-keys.ts";
export { startConfigNode } from "./config-node.ts";
export type { ConfigNode, ConfigNodeOptions, ServingNode } from "./config-node-types.ts";
export { BUILT_IN_PACKS, builtInPackIds } from "./configuration/built-in-packs.ts";
export { compileAlone } from "./configuration/compile-document.ts";
export {
  type CompiledSources,
  changeOf,
  compileSources,
  editionOf,
  type FileStatus,
  type FileStatusInput,
  fileStatus,
  type SourcesChange,
  type SourcesInput,
} from "./configuration/compile-sources.ts";
export { type ReadGuardrails, readGuardrailsAt, readGuardrailsIn } from "./configuration/document-guardrails.ts";
export { type ModelCallsAlone, openModelCallsAlone, type SpentCalls } from "./configuration/document-model-calls.ts";
export { compileFlags, type FlagSnapshot, type ProviderFlags } from "./configuration/flag-mode.ts";
export {
  type Composed,
  compileDocuments,
  composeNode,
  type Loaded,
  type LoadedNode,
  loadNode,
  type NodeDocuments,
  readNode,
} from "./configuration/load-documents.ts";
export { openCredentialWarning } from "./configuration/open-credentials.ts";
export { proxiedUpstreams } from "./configuration/proxied-upstreams.ts";
export { beside, readTextSync } from "./configuration/read-configuration-files.ts";
export {
  ConfigurationRefused,
  checkForwardProxies,
  countIn,
  durationIn,
  nameServersIn,
  originsIn,
} from "./configuration/startup-errors.ts";
export { issuersOf } from "./governance/issuers.ts";
export { defaultCache, modelCacheOf } from "./model-cache.ts";
export { type DataPlaneBounds, type Exporting, observe, serveDataPlane } from "./start.ts";
export { acmeSettingsOf } from "./tls/acme-settings.ts";
export { certificateFilesOf } from "./tls/data-listener-tls.ts";
export { neededMemory, workersIn } from "./worker/index.ts";
