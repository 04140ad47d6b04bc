/** Console of the operator. Light until it is opened: `openConsole` loads React and Ink. */

export type { Compiling, OwnedDocument, PackFacts, PackTrial, Trial } from "./model/documents.ts";
export type { ConsolePorts, JobOptions, Report } from "./model/ports.ts";
export { MAX_SETTINGS_BYTES, type NamedDoor, NO_SETTINGS, type Settings, type ThemeSpec } from "./model/settings.ts";
export type { SweepAnswer, SweepResult, TurningCase } from "./model/sweep.ts";
export { type ConsoleEnd, type ConsoleOptions, openConsole } from "./open.ts";
export type { RecordFile } from "./parts/record.ts";
export type { Fault, Read } from "./settings/faults.ts";
export { settingsReader } from "./settings/reader.ts";
export { BUILT_IN } from "./settings/themes.ts";
export { VIEWS } from "./views/all.ts";
export * from "./without-screen.ts";
