/** State that the node keeps to serve the Responses API from providers without it. */

export { DEFAULT_MEMORY_BYTES } from "./item-memory.ts";
export type { SealBinding, SealKey } from "./reasoning-seals.ts";
export { mayHaveReferences, referencedIds, replaceReferences } from "./references.ts";
export { parseGeneratedId } from "./response-ids.ts";
export { createResponses, type OtherNodes, type Responses } from "./responses.ts";
