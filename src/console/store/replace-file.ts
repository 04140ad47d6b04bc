/** Asks before a local file is replaced. */

import { escapeControls } from "../../base/index.ts";
import type { Dialog } from "../model/dialog.ts";
import { line } from "../model/text.ts";
import type { SaveText } from "../model/view.ts";

/** Builds the dialog. `path` is the existing file. */
export const replaceDialog = (job: SaveText, path: string): Dialog => ({
  title: "Replace a local file",
  isLocal: true,
  isDangerous: true,
  fields: [],
  lines: () => [
    ["Exists", line(escapeControls(path))],
    ["Replaces", line(`its content with ${job.what}`)],
    ["Note", line("Esc keeps the file; then save under another name", "dim")],
  ],
  confirm: { kind: "yes", button: "replace" },
  task: () => ({ kind: "job", job: { ...job, replaces: true } }),
});
