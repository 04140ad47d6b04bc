/** Settings file of the operator: its format and its faults. */

export { readSettings, readTheme } from "./read-settings.ts";
export type { Fault, Read } from "./settings-faults.ts";
export { BUILT_IN } from "./themes.ts";
