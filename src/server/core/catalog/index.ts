/**
 * The provider catalog: presets and overlays, resolved. Pure.
 *
 * - `presets/`: presets of providers
 */

export { applyOverlays, type NamedOverlay, overlayFileProblem } from "./apply-overlays.ts";
export { lackedByClaude } from "./claude-models.ts";
export { compiledCatalog } from "./compiled-catalog.ts";
export { compileJoin, joinPath } from "./join-url.ts";
export { lostWithout } from "./removed-fields.ts";
export { type ResolveRequest, resolveProvider } from "./resolve.ts";
export type { Catalog, CatalogProvider, Channel } from "./types.ts";
