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

export { readPolicy } from "./admin/open-admin-plane.ts";
export { keySourcesOf } from "./cluster/sealing-keys.ts";
export { startConfigNode } from "./config-node.ts";
export type { ConfigNode, ServingNode } from "./config-node-types.ts";
export { BUILT_IN_PACKS, builtInPackIds } from "./configuration/built-in-packs.ts";
export { compileWithoutNode } from "./configuration/compile-document.ts";
export { type ReadGuardrails, readGuardrailsAt, readGuardrailsIn } from "./configuration/document-guardrails.ts";
export {
  type ModelCallUsage,
  openStandaloneModelCalls,
  type StandaloneModelCalls,
} from "./configuration/document-model-calls.ts";
export {
  ConfigurationRefused,
  checkForwardProxies,
  readCount,
  readDuration,
  readNameServers,
  readOrigins,
} from "./configuration/environment-settings.ts";
export { compileFlags } from "./configuration/flag-mode.ts";
export { compileDocuments, composeNode, type LoadedNode, loadNode, readNode } from "./configuration/load-documents.ts";
export { proxiedUpstreams } from "./configuration/proxied-upstreams.ts";
export { readTextSync, resolveBeside } from "./configuration/read-configuration-files.ts";
export { unprotectedCredentialWarning } from "./configuration/unprotected-credentials.ts";
export { issuersOf } from "./governance/issuers.ts";
export { modelCacheDirectory } from "./model-cache.ts";
export { type DataPlaneBounds, observe, serveDataPlane } from "./start.ts";
export { acmeSettingsOf } from "./tls/acme-settings.ts";
export { certificateFilesOf } from "./tls/data-listener-tls.ts";
export { programBytes, readWorkerCount, requiredMemoryBytes } from "./worker/index.ts";
