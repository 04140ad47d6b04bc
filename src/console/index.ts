/**
 * Console of the operator. Light until it is opened: `openConsole` loads React and Ink.
 *
 * - `actions/`: dialogs that change something
 * - `draw/`: panes, tables and frames as text
 * - `edit/`: text editing: the effect of a key on a text with a cursor
 * - `format/`: numbers, times, bytes and cells as text
 * - `model/`: data of the console: requests, rows, state
 * - `pages/`: pages built from answers
 * - `parts/`: React components, which only place what `draw/` made
 * - `run/`: actions on a gateway: writes, files, jobs
 * - `settings/`: the operator's settings file
 * - `store/`: steps from one state to the next
 * - `terminal/`: the terminal: colors, screen, suspension
 * - `views/`: a file for each view: what it reads, lists and offers
 * - `watch/`: reads of the admin API, kept current
 * - `workbench/`: SQL workbench
 */

export type { Compiling, OwnedDocument, PackFacts, PackTrial, Trial } from "./model/documents.ts";
export type { ConsolePorts, JobOptions } from "./model/ports.ts";
export {
  MAX_SETTINGS_BYTES,
  type NamedEndpoint,
  NO_SETTINGS,
  type Settings,
  type ThemeSpec,
} from "./model/settings.ts";
export type { ChangedCase, SweepAnswer, SweepResult } from "./model/sweep.ts";
export { type ConsoleEnd, openConsole } from "./open.ts";
export type { RecordFile } from "./parts/session-recorder.ts";
export { settingsReader } from "./settings/load-reader.ts";
export type { Fault, Read } from "./settings/settings-faults.ts";
export { BUILT_IN } from "./settings/themes.ts";
export { VIEWS } from "./views/all.ts";
export * from "./without-screen.ts";
