/** Imports configurations of other gateways as deployment documents. */

export { type Imported, importConfiguration, SYSTEMS, type System, titleOf } from "./import-configuration.ts";
export { reportText } from "./import-report.ts";
export { isPreset } from "./presets.ts";
