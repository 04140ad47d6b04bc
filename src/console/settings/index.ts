/** Settings file of the operator: its format and its faults. */

export { readSettings, readTheme } from "./read-settings.ts";
