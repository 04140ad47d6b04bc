/** Operations on configuration sources with their history, the configuration composed of them, and the reload of the file. */

import { choice, flag, integer, list, nullable, object, optional, type TypeOf, text, time } from "../../base/index.ts";
import { TABLES } from "../lists.ts";
import { answers, EMPTY, jsonBody, NO_BODY, NOTHING, type Operation, WRITE_CODES } from "../operation.ts";
import { rehearsalResult } from "./rehearsal.ts";

const name = text("Name of a source.", { pattern: "^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$" });
const revision = integer("A revision of the source.", { minimum: 1, maximum: Number.MAX_SAFE_INTEGER });
const NAMED = object("Which source.", { name });
const resource = { kind: "Source", param: "name" } as const;

const dryRun = object("Whether to write.", {
  dry_run: optional(flag("Compile and answer the difference; write nothing.")),
});

const dryRunOfSource = object("Whether to write.", {
  ...dryRun.keys,
  rehearse: optional(
    flag("With `dry_run`: also judge the requests of the last hour by it, which the action `rehearse` permits."),
  ),
});

const differences = list(
  "What differs from the revision before.",
  object("One difference.", {
    path: text("Where in the composed configuration."),
    kind: choice("What happens there.", ["added", "removed", "changed"]),
    fields: optional(
      list(
        "Of a changed object: what changed in it; `order` where a list holds the same otherwise.",
        text("Path within the object, such as `pool.subsets`."),
      ),
    ),
  }),
);

export const sourceDocument = object("A source with its document.", {
  ...TABLES.sources.keys,
  document: text("As it was written, YAML or JSON."),
});

export const sourceRevision = object("A revision of a source.", {
  revision: integer("Its number."),
  updated_at: time("When it was accepted."),
  by: text("Principal who wrote it."),
  bytes: integer("Length of the document."),
});

export const sourceProblem = object("Something in a document that will not do, or should not.", {
  source: text("Name of the source."),
  path: text("Where in the document; empty: the whole."),
  line: integer("Line, from 1; 0 when it has none."),
  column: integer("Column, from 1; 0 when it has none."),
  message: text("What is wrong."),
});

const warnings = list("What compiles and yet should be looked at.", sourceProblem);

export const sourceChange = object("What a write came to, or would.", {
  name: text("Name of the source."),
  revision: integer("Revision now in force; of a dry run, the one it was compared with (0: none)."),
  changed: flag("False when the document is the stored one."),
  differences,
  warnings,
  rehearsal: optional(rehearsalResult),
});

export const fileStatus = object("How the deployment document on disk stands to what runs.", {
  state: choice("In a word.", ["in_sync", "diverged", "behind", "no_version", "no_file", "refused"]),
  message: text("In a sentence."),
  remedy: text("What to do; empty when nothing needs doing."),
});

export const configuration = object("The configuration in force on the node asked.", {
  source: text("Where it comes from: a path for a file-configured deployment, else `api`."),
  sources: list(
    "The sources it is composed of.",
    object("One source.", {
      name: text("Its name."),
      revision: integer("The revision this node serves."),
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
    help: "Replaces a source by the document in the body, once the whole compiles.",
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
    help: "Deletes a source, once what remains compiles.",
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
    help: "Lists the revisions that are kept of a source, newest first.",
    params: NAMED,
    query: NOTHING,
    body: NO_BODY,
    answer: answers(object("Revisions.", { items: list("Newest first.", sourceRevision) })),
    codes: ["not_found"],
  },
  get_source_revision: {
    method: "GET",
    path: "/sources/{name}/revisions/{revision}",
    group: "read",
    resource,
    help: "Shows one revision of a source with its document.",
    params: object("Which revision.", { name, revision }),
    query: NOTHING,
    body: NO_BODY,
    answer: answers(
      object("A revision with its document.", { ...sourceRevision.keys, document: text("As it was written.") }),
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
    body: jsonBody(object("Where to.", { revision })),
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
    help: "Shows what the configuration in force is composed of, and how the file stands to it.",
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
    help: "Applies the deployment document on disk to the whole cluster, unless it is behind.",
    params: NOTHING,
    query: dryRun,
    body: NO_BODY,
    answer: answers(
      object("What the reload came to, or would.", {
        applied: flag("False when the document is the stored one, and of a dry run."),
        revision: nullable(integer("Revision of the source `default` now in force.")),
        file_status: fileStatus,
        differences: optional(differences),
        warnings: optional(warnings),
      }),
    ),
    records: ["applied", "revision"],
    codes: ["refused", ...WRITE_CODES],
  },
} as const satisfies Record<string, Operation>;

export type SourceDocument = TypeOf<typeof sourceDocument>;
export type SourceRevision = TypeOf<typeof sourceRevision>;
export type SourceProblem = TypeOf<typeof sourceProblem>;
export type SourceChange = TypeOf<typeof sourceChange>;
export type FileStatus = TypeOf<typeof fileStatus>;
export type Configuration = TypeOf<typeof configuration>;
