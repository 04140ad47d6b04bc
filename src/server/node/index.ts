export { beside } from "./files.ts";
export { compileFlags, type FlagSnapshot, type ProviderFlags } from "./flag-mode.ts";
export { type Loaded, type LoadedNode, loadNode } from "./load.ts";
export { type ReloadCause, type ReloadOptions, reload } from "./reload.ts";
export { DRAIN_MS, type NodeSettings, type RunningNode, startNode } from "./start.ts";
export { watchSecrets } from "./watch.ts";
