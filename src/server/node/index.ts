export { type ClusterSurroundings, clusterOptionsOf } from "./cluster-options.ts";
export { beside } from "./files.ts";
export { compileFlags, type FlagSnapshot, type ProviderFlags } from "./flag-mode.ts";
export { type Loaded, type LoadedNode, loadNode } from "./load.ts";
export { type ReloadCause, type ReloadOptions, reload } from "./reload.ts";
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
export { DRAIN_MS, type NodeSettings, type RunningNode, startNode } from "./start.ts";
export { watchSecrets } from "./watch.ts";
