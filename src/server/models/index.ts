/** Models: declared, pinned, downloaded, verified and cached. */

export { ModelError, type ModelFault } from "./model-error.ts";
export { type ModelNeed, modelNeeds } from "./needs.ts";
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
