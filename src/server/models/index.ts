/**
 * Models: declared, pinned, downloaded, verified and cached.
 *
 * - `cache/`: the cache on disk: parts, manifests, locks, views
 * - `fetch/`: downloads: attempts, ranges, refusals
 * - `hub/`: repositories of models
 */

export { type ModelStatus, type ModelSupply, missingModelsText, openModelSupply } from "./background-fetch.ts";
export { type CacheInventory, readCacheInventory, removeUnused } from "./cache-inventory.ts";
export { DEFAULT_ENDPOINT } from "./hub/choose.ts";
export { ModelError } from "./model-error.ts";
export { type ModelNeed, modelNeeds } from "./model-needs.ts";
export { type Pin, pinModel } from "./pin.ts";
export { type OpenStore, openModelStore, type StoreOptions } from "./store.ts";
export type { ModelDeclaration, ModelView } from "./types.ts";
