/** Models: declared, pinned, downloaded, verified and cached. */

export { DEFAULT_ENDPOINT } from "./hub/choose.ts";
export { ModelError, type ModelFault } from "./model-error.ts";
export { type ModelNeed, modelNeeds } from "./needs.ts";
export { type Pin, pinModel } from "./pin.ts";
export { removeUnused, type Stock, takeStock, type Unused } from "./stock.ts";
export { type OpenStore, openModelStore, type StoreOptions } from "./store.ts";
export {
  lackingWords,
  type ModelStanding,
  type ModelSupply,
  openModelSupply,
  type SupplyOptions,
} from "./supply.ts";
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
