/** The operator's file of settings: what it may say, and what is wrong with one. */

export { type Fault, MAX_SETTINGS_BYTES, type Read } from "./faults.ts";
export { readSettings } from "./read.ts";
export { BUILT_IN, readTheme } from "./themes.ts";
