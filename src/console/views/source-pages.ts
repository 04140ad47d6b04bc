/** Pages of the views of sources, with their titles. */

import { escapeControls } from "../../base/index.ts";
import { askFile } from "../actions/ask-file.ts";
import type { Intent } from "../model/view.ts";

export const viewDocument = (source: string, revision?: number): Intent => ({
  kind: "load",
  title: `${escapeControls(source)}, ${revision === undefined ? "the revision in force" : `revision ${revision}`}`,
  load: { kind: "document", source, ...(revision !== undefined && { revision }) },
});

/** Opens the difference of two revisions. If `to` is missing, the second one is the active revision. */
export const viewDifference = (source: string, from: number, to?: number): Intent => ({
  kind: "load",
  title: `${escapeControls(source)}, revision ${from} -> ${to === undefined ? "the one in force" : to}`,
  load: { kind: "difference", source, from, ...(to !== undefined && { to }) },
});

export const previewRollback = (source: string, revision: number): Intent => ({
  kind: "load",
  title: `${escapeControls(source)}, what revision ${revision} would change`,
  load: { kind: "preview", source, from: { revision } },
});

export const previewFile = (source: string): Intent =>
  askFile(`preview as ${escapeControls(source)} the file`, "", (file) => ({
    kind: "load",
    title: `${escapeControls(source)}, what ${escapeControls(file)} would change`,
    load: { kind: "preview", source, from: { file } },
  }));

/** Asks for the file; if `revision` is missing, saves the active one. */
export const saveDocument = (source: string, revision?: number): Intent =>
  askFile(
    `save ${escapeControls(source)}${revision === undefined ? "" : `, revision ${revision},`} to file`,
    `${source}${revision === undefined ? "" : `-${revision}`}.yaml`,
    (file) => ({
      kind: "job",
      job: { kind: "save_document", source, file, ...(revision !== undefined && { revision }) },
    }),
  );
