/** The operator's file of settings: what it may say, and what is wrong with one. */

export type { Fault, Read } from "./faults.ts";
export { readSettings, readTheme } from "./read.ts";
export { BUILT_IN } from "./themes.ts";
