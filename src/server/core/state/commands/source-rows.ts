/**
 * Rows of configuration sources: `source/<name>` describes the current revision, `hist/<name>/<revision>` contains the text of
 * each kept revision. Revisions of a name count up from 1 and continue after the source was deleted: a deletion is a revision
 * without text. `deploy/mode` exists while the file is the only writer of the source `default`.
 */

import { actor } from "../command-envelope.ts";
import {
  choice,
  identifier,
  integer,
  Malformed,
  nullable,
  object,
  optional,
  type Parser,
  sha256Hex,
  shaped,
} from "../fields.ts";
import { digits, rowFormat } from "../row-format.ts";

/** Name of the only source of a deployment that is configured by a file. */
export const FILE_SOURCE = "default";
export const KEPT_REVISIONS = 50;

export const writer = choice(["file", "api"]);
/** Version that the author gave the document. */
export const documentVersion = integer(1);

const facts = {
  name: identifier,
  revision: integer(1),
  writer,
  version: nullable(documentVersion),
  sha256: sha256Hex,
  /** Size of the text in UTF-8, in bytes. */
  bytes: integer(),
  at: integer(),
  by: actor,
};

const source = object({
  ...facts,
  /** Highest version that was applied before this edition of the file, if it has no version itself. Used from level 5 on. */
  highest: optional(documentVersion),
});
export type SourceRow = ReturnType<typeof source>;
export const sourceRows = rowFormat(source);

/** Parses any text with a UTF-8 encoding, including NUL; the compiler of the document checks the content. */
const content: Parser<string> = shaped(
  (value) => {
    if (typeof value !== "string" || !value.isWellFormed()) throw new Malformed("a text is malformed");
    return value;
  },
  () => "text",
);
const revision = object({
  ...facts,
  kind: choice(["put", "rollback", "delete"]),
  /** Text of the revision; null if this revision deleted the source. */
  text: nullable(content),
});
export type RevisionRow = ReturnType<typeof revision>;
export const revisionRows = rowFormat(revision);

const mode = object({ mode: choice(["file"]) });
export const deployModeRows = rowFormat(mode);
export const deployModeKey = "deploy/mode";

export const sourceRowKey = (name: string): string => `source/${name}`;
export const revisionsOf = (name: string): string => `hist/${name}/`;
export const revisionRowKey = (name: string, number: number): string => `${revisionsOf(name)}${digits(number, 10)}`;
/** Returns the number at the end of a `hist/` key. */
export const revisionOfKey = (key: string): number => Number(key.slice(key.lastIndexOf("/") + 1));

/** Row scanner; drafts and views implement it. */
interface Rows {
  scan(prefix: string): Iterable<readonly [key: string, value: string]>;
}

/**
 * Returns the highest version of the file that was applied since the source exists, for an edition without a version. An edition
 * that was stored below feature level 5 does not contain it; then the kept revisions are read.
 */
export function highestVersion(rows: Rows, { name, version, highest }: SourceRow): number | undefined {
  if (version !== null || highest !== undefined) return version ?? highest;
  let found: number | undefined;
  for (const [, value] of rows.scan(revisionsOf(name))) {
    const revision = revisionRows.read(value);
    if (revision.kind === "delete" || revision.writer !== "file") found = undefined;
    else if (revision.version !== null) found = Math.max(found ?? 0, revision.version);
  }
  return found;
}
