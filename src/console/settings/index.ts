/** Settings file of the operator: its format and its faults. */

export type { Fault, Read } from "./faults.ts";
export { readSettings, readTheme } from "./read.ts";
export { BUILT_IN } from "./themes.ts";
