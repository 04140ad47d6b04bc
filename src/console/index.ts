/** The operator's terminal. Light until it is opened: React and Ink are loaded by `openConsole`. */

export type { Compiling, OwnedDocument, PackFacts, PackTrial, Trial } from "./model/documents.ts";
export type { ConsolePorts, JobOptions, Report } from "./model/ports.ts";
export { type NamedDoor, NO_SETTINGS, type Settings, type ThemeSpec } from "./model/settings.ts";
export type { SweepAnswer, SweepResult, TurningCase } from "./model/sweep.ts";
export { type ConsoleEnd, type ConsoleOptions, openConsole } from "./open.ts";
export type { RecordFile } from "./parts/record.ts";
export { BUILT_IN, type Fault, MAX_SETTINGS_BYTES, type Read, readSettings, readTheme } from "./settings/index.ts";
export { VIEWS } from "./views/all.ts";
export * from "./without-screen.ts";
