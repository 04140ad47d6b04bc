/** Operations on configuration sources with their history, the configuration composed of them, and the reload of the file. */

import { choice, flag, integer, list, nullable, object, optional, type TypeOf, text, time } from "../../base/index.ts";
import { TABLES } from "../list-table.ts";
import { answers, EMPTY, jsonBody, NO_BODY, NOTHING, type Operation, WRITE_CODES } from "../operation-definition.ts";
import { rehearsalResult } from "./rehearsal.ts";

const name = text("Name of a source.", { pattern: "^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$" });
const revision = integer("Revision number of the source.", { minimum: 1, maximum: Number.MAX_SAFE_INTEGER });
const NAMED = object("Path parameters.", { name });
const resource = { kind: "Source", param: "name" } as const;

const dryRun = object("Query parameters.", {
  dry_run: optional(flag("Only compile the document and return the differences. Nothing is written.")),
});

const dryRunOfSource = object("Query parameters.", {
  ...dryRun.keys,
  rehearse: optional(
    flag(
      "With `dry_run`: also test the document on the requests of the last hour. The policy must permit the action `rehearse`.",
    ),
  ),
});

const differences = list(
  "Differences from the previous revision.",
  object("One difference.", {
    path: text("Path of the object in the composed configuration."),
    kind: choice("What happens to the object.", ["added", "removed", "changed"]),
    fields: optional(
      list(
        "Changed fields of a changed object; `order` if only the order of a list changed.",
        text("Path within the object, such as `pool.subsets`."),
      ),
    ),
  }),
);

export const sourceDocument = object("A source with its document.", {
  ...TABLES.sources.keys,
  document: text("The document as it was written, YAML or JSON."),
});

export const sourceRevision = object("A revision of a source.", {
  revision: integer("Revision number."),
  updated_at: time("Time at which the revision was accepted."),
  by: text("Operator who wrote the revision."),
  bytes: integer("Length of the document in bytes."),
});

export const sourceProblem = object("An error or warning about a document.", {
  source: text("Name of the source; empty if the problem belongs to no single source."),
  path: text("Path in the document. Empty if the problem is about the whole document."),
  line: integer("Line, from 1. 0 if there is none."),
  column: integer("Column, from 1. 0 if there is none."),
  message: text("Description of the problem."),
});

const warnings = list("Warnings: parts of the document that compile but may be mistakes.", sourceProblem);

export const sourceChange = object("Result of a write or dry run.", {
  name: text("Name of the source."),
  revision: integer(
    "Revision now in force. For a dry run, the revision that the document was compared with, or 0 if there is none.",
  ),
  changed: flag("False if the document equals the stored one."),
  differences,
  warnings,
  rehearsal: optional(rehearsalResult),
});

export const fileStatus = object("Comparison of the deployment document on disk with the configuration in force.", {
  state: choice("Result of the comparison.", ["in_sync", "diverged", "behind", "no_version", "no_file", "refused"]),
  message: text("The result as a sentence."),
  remedy: text("What to do. Empty if nothing has to be done."),
});

export const configuration = object("The configuration in force on the queried node.", {
  source: text("Path of the deployment document that the node file names, or `api`."),
  sources: list(
    "Sources that the configuration is composed of.",
    object("One source.", {
      name: text("Name of the source."),
      revision: integer("Revision that this node serves."),
    }),
  ),
  file_status: fileStatus,
});

export const sourceOperations = {
  get_source: {
    method: "GET",
    path: "/sources/{name}",
    group: "read",
    resource,
    help: "Shows a source with its document.",
    params: NAMED,
    query: NOTHING,
    body: NO_BODY,
    answer: answers(sourceDocument),
    codes: ["not_found"],
  },
  put_source: {
    method: "PUT",
    path: "/sources/{name}",
    group: "write",
    resource,
    help: "Replaces a source with the document in the body, if the whole configuration compiles.",
    params: NAMED,
    query: dryRunOfSource,
    body: { kind: "document" },
    answer: answers(sourceChange),
    takesIfMatch: true,
    records: ["revision", "changed"],
    codes: ["stale", "refused", "body_too_large", ...WRITE_CODES],
  },
  delete_source: {
    method: "DELETE",
    path: "/sources/{name}",
    group: "write",
    resource,
    help: "Deletes a source, if the remaining configuration compiles.",
    params: NAMED,
    query: NOTHING,
    body: NO_BODY,
    answer: EMPTY,
    takesIfMatch: true,
    codes: ["not_found", "stale", "refused", ...WRITE_CODES],
  },
  list_source_revisions: {
    method: "GET",
    path: "/sources/{name}/revisions",
    group: "read",
    resource,
    help: "Lists the stored revisions of a source, newest first.",
    params: NAMED,
    query: NOTHING,
    body: NO_BODY,
    answer: answers(object("Revisions.", { items: list("Revisions, newest first.", sourceRevision) })),
    codes: ["not_found"],
  },
  get_source_revision: {
    method: "GET",
    path: "/sources/{name}/revisions/{revision}",
    group: "read",
    resource,
    help: "Shows one revision of a source with its document.",
    params: object("Path parameters.", { name, revision }),
    query: NOTHING,
    body: NO_BODY,
    answer: answers(
      object("A revision with its document.", {
        ...sourceRevision.keys,
        document: text("The document as it was written."),
      }),
    ),
    codes: ["not_found"],
  },
  rollback_source: {
    method: "POST",
    path: "/sources/{name}/rollback",
    group: "write",
    resource,
    help: "Writes an earlier revision of a source as its newest.",
    params: NAMED,
    query: dryRun,
    body: jsonBody(object("Revision to return to.", { revision })),
    answer: answers(sourceChange),
    takesIfMatch: true,
    records: ["revision", "changed"],
    codes: ["not_found", "stale", "refused", ...WRITE_CODES],
  },
  get_config: {
    method: "GET",
    path: "/config",
    group: "read",
    resource: { kind: "Config", name: "config" },
    help: "Shows the sources of the configuration in force, and whether the deployment document on disk matches it.",
    params: NOTHING,
    query: NOTHING,
    body: NO_BODY,
    answer: answers(configuration),
    codes: [],
  },
  reload_config: {
    method: "POST",
    path: "/reload",
    group: "write",
    resource: { kind: "Config", name: "config" },
    help: "Applies the deployment document on disk to the whole cluster, unless the document is older than the stored one.",
    params: NOTHING,
    query: dryRun,
    body: NO_BODY,
    answer: answers(
      object("Result of the reload or dry run.", {
        applied: flag("False if the document equals the stored one, and for a dry run."),
        revision: nullable(integer("Revision of the source `default` that is now in force. Null if there is none.")),
        file_status: fileStatus,
        differences: optional(differences),
        warnings: optional(warnings),
      }),
    ),
    records: ["applied", "revision"],
    codes: ["refused", ...WRITE_CODES],
  },
} as const satisfies Record<string, Operation>;

export type SourceRevision = TypeOf<typeof sourceRevision>;
export type SourceProblem = TypeOf<typeof sourceProblem>;
export type SourceChange = TypeOf<typeof sourceChange>;
export type FileStatus = TypeOf<typeof fileStatus>;
export type Configuration = TypeOf<typeof configuration>;
