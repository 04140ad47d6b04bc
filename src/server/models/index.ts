/** Models: declared, pinned, downloaded, verified and cached. */

export {
  lackingWords,
  type ModelStanding,
  type ModelSupply,
  openModelSupply,
  type SupplyOptions,
} from "./background-fetch.ts";
export { removeUnused, type Stock, takeStock, type Unused } from "./cache-inventory.ts";
export { DEFAULT_ENDPOINT } from "./hub/choose.ts";
export { ModelError, type ModelFault } from "./model-error.ts";
export { type ModelNeed, modelNeeds } from "./needs.ts";
export { type Pin, pinModel } from "./pin.ts";
export { type OpenStore, openModelStore, type StoreOptions } from "./store.ts";
export type {
  Digest,
  EnsureOptions,
  FileRole,
  Manifest,
  ManifestFile,
  ModelDeclaration,
  ModelParts,
  ModelStore,
  ModelView,
  Progress,
} from "./types.ts";
