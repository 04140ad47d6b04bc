/** Imports configurations of other gateways as deployment documents. */

export { type Imported, importConfiguration, SYSTEMS, type System, titleOf } from "./import.ts";
export { isPreset } from "./presets.ts";
export { reportText } from "./report.ts";
export type { Note } from "./source.ts";
