/** Configurations of other gateways, as deployment documents. */

export { type Imported, importConfiguration, SYSTEMS, type System } from "./import.ts";
export { isPreset } from "./presets.ts";
export type { Note } from "./source.ts";
