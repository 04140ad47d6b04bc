export { acmeSettingsOf } from "./acme.ts";
export { type PolicyRead, readPolicy } from "./admin-plane.ts";
export { BUILT_IN_PACKS, builtInPackIds } from "./built-in-packs.ts";
export { type ClusterSurroundings, clusterOptionsOf } from "./cluster-options.ts";
export { compileAlone } from "./compile-alone.ts";
export { startConfigNode } from "./config-node.ts";
export type { ConfigNode, ConfigNodeOptions, ServingNode } from "./config-node-types.ts";
export { beside, readTextSync } from "./files.ts";
export { compileFlags, type FlagSnapshot, type ProviderFlags } from "./flag-mode.ts";
export { certificateFilesOf } from "./front-door.ts";
export { type ReadGuardrails, readGuardrailsAt, readGuardrailsIn } from "./guardrails-alone.ts";
export { issuersOf } from "./issuers.ts";
export {
  type Composed,
  compileDocuments,
  composeNode,
  type Loaded,
  type LoadedNode,
  loadNode,
  type NodeDocuments,
  readNode,
} from "./load.ts";
export { modelCacheOf, usualCache } from "./model-cache.ts";
export { type ModelCallsAlone, openModelCallsAlone, type SpentCalls } from "./model-calls-alone.ts";
export { openCredentialWords } from "./open-credentials.ts";
export { proxiedUpstreams } from "./proxied-upstreams.ts";
export { keySourcesOf } from "./sealing-keys.ts";
export {
  type CompiledSources,
  changeOf,
  compileSources,
  editionOf,
  type FileQuestion,
  type FileStatus,
  fileStatus,
  type SourcesChange,
  type SourcesInput,
} from "./sources.ts";
export { type DataPlaneBounds, type Exporting, observe, serveDataPlane } from "./start.ts";
export {
  ConfigurationRefused,
  checkForwardProxies,
  countIn,
  durationIn,
  nameServersIn,
  originsIn,
} from "./startup-errors.ts";
export { neededMemory, workersIn } from "./worker/index.ts";
