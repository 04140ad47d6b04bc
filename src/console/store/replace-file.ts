/** Asks before a local file is replaced. */

import { escapeControls } from "../../base/index.ts";
import type { Dialog } from "../model/dialog.ts";
import { line } from "../model/text.ts";
import type { SaveText } from "../model/view.ts";

/** `path` is the existing file. */
export const replaceDialog = (job: SaveText, path: string): Dialog => ({
  title: "Replace a file of this machine",
  isLocal: true,
  isDangerous: true,
  fields: [],
  lines: () => [
    ["Exists", line(escapeControls(path))],
    ["Replaces", line(`its content with ${job.what}`)],
    ["Note", line("Esc keeps the file; save under another name instead", "dim")],
  ],
  confirm: { kind: "yes", does: "replace" },
  deed: () => ({ kind: "job", job: { ...job, replaces: true } }),
});
