/** The provider catalog: presets and overlays, resolved. Pure. */

export {
  CAPABILITIES,
  CAPABILITY_NAMES,
  type Capability,
  claimableIn,
  isCapability,
  lostWithout,
  usableIn,
} from "./capabilities.ts";
export { compiledCatalog } from "./compiled.ts";
export { compileJoin, joinPath } from "./join-url.ts";
export {
  applyOverlays,
  type NamedOverlay,
  type OverlayOutcome,
  type OverlayProblem,
  overlayFileProblem,
} from "./overlays.ts";
export { type ResolveOutcome, type ResolveRequest, resolveProvider } from "./resolve.ts";
export type { Catalog, CatalogProvider, Channel, Dialect, KeyHeader, Tier } from "./types.ts";
