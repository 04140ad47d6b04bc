/** Pages that need further reads: documents, their differences, and previews of changes. */

import { parseDocument } from "yaml";
import { type AdminClient, AdminError } from "../../admin-api/index.ts";
import { escapeControls } from "../../base/index.ts";
import type { DocumentChange } from "../model/documents.ts";
import type { DocumentPageRequest } from "../model/page-request.ts";
import type { ConsolePorts } from "../model/ports.ts";
import { BLANK, type Line, line } from "../model/text.ts";
import { differencePage } from "../pages/difference.ts";
import { documentPage } from "../pages/document.ts";
import { fieldChanges } from "../pages/field-changes.ts";
import { masked } from "../pages/mask.ts";
import { previewPage, refusalPage } from "../pages/preview.ts";
import { removalPage } from "../pages/removal.ts";
import { secretUsesPage } from "../pages/secret-uses.ts";

const TIME_LIMIT_MS = 60_000;

export interface LoadOptions {
  readonly client: AdminClient;
  readonly ports: Pick<ConsolePorts, "readDocument">;
  readonly signal: AbortSignal;
}

interface Limits {
  readonly signal: AbortSignal;
  readonly timeLimitMs: number;
}

/** Loads a page. Rejects with `AdminError`, or with the error of reading a local file. */
export async function loadPage(request: DocumentPageRequest, options: LoadOptions): Promise<readonly Line[]> {
  const { client, signal } = options;
  const limits = { signal, timeLimitMs: TIME_LIMIT_MS };
  if (request.kind === "edited") return await orRefusal(editedPage(request.change, options, limits));
  if (request.kind === "secret_uses") return await secretUses(request.names, options, limits);
  const params = { name: request.source };
  const documentOf = async (revision: number | undefined): Promise<{ document: string; revision: number }> =>
    revision === undefined
      ? await client.call("get_source", { params }, limits)
      : await client.call("get_source_revision", { params: { ...params, revision } }, limits);
  switch (request.kind) {
    case "document":
      return documentPage((await documentOf(request.revision)).document);
    case "difference": {
      const [from, to] = await Promise.all([documentOf(request.from), documentOf(request.to)]);
      const names = { from: `revision ${from.revision}`, to: `revision ${to.revision}` };
      return differencePage(from.document, to.document, names);
    }
    case "reload":
      return await reloading(request, documentOf, options, limits);
    case "preview":
      return await orRefusal(preview(request, options, limits));
    case "removal":
      return await orRefusal(removal(request.source, options, limits));
    default:
      return request satisfies never;
  }
}

async function orRefusal(page: Promise<readonly Line[]>): Promise<readonly Line[]> {
  try {
    return await page;
  } catch (error) {
    if (error instanceof AdminError && error.code === "refused") return refusalPage(error);
    throw error;
  }
}

/** Document that defines nothing: compared with it, a preview shows what a source defines. */
const NOTHING = "{}";

async function removal(name: string, { client }: LoadOptions, limits: Limits): Promise<readonly Line[]> {
  const input = { params: { name }, query: { dry_run: true }, body: NOTHING };
  const [change, models, profiles] = await Promise.all([
    client.call("put_source", input, limits),
    readable(client.call("list_models", {}, limits)),
    readable(client.call("list_profiles", {}, limits)),
  ]);
  return removalPage(change, { models: models?.items, profiles: profiles?.items });
}

/**
 * Shows which objects change, as the node computes it from its own file; also the line difference if the file is on
 * this machine.
 */
async function reloading(
  { source, file }: Extract<DocumentPageRequest, { readonly kind: "reload" }>,
  documentOf: (revision: undefined) => Promise<{ readonly document: string; readonly revision: number }>,
  options: LoadOptions,
  limits: Limits,
): Promise<readonly Line[]> {
  const meaning = await orRefusal(meaningOf(source, options, limits));
  const lines = file === undefined ? [] : await linesOf(file, documentOf, options);
  return meaning.length === 0 || lines.length === 0 ? [...meaning, ...lines] : [...meaning, BLANK, ...lines];
}

async function meaningOf(name: string, { client }: LoadOptions, limits: Limits): Promise<readonly Line[]> {
  try {
    const {
      revision,
      differences = [],
      warnings = [],
    } = await client.call("reload_config", { query: { dry_run: true } }, limits);
    return previewPage({ name, revision: revision ?? 0, changed: true, differences, warnings });
  } catch (error) {
    // An older node does not support dry runs and refuses the request, so nothing was reloaded.
    if (error instanceof AdminError && error.code === "invalid") {
      return [line("The changed values are not known: the node runs an earlier version.", "warn")];
    }
    throw error;
  }
}

async function linesOf(
  file: string,
  documentOf: (revision: undefined) => Promise<{ readonly document: string; readonly revision: number }>,
  { ports, signal }: LoadOptions,
): Promise<readonly Line[]> {
  let next: string;
  try {
    next = await ports.readDocument(file, signal);
  } catch (error) {
    signal.throwIfAborted();
    const reason = error instanceof Error ? error.message : String(error);
    return [line(`Its lines are not shown: ${escapeControls(reason)}`, "warn")];
  }
  const stored = await storedOr(documentOf(undefined));
  return differencePage(stored.document, next, {
    from: stored.revision === 0 ? "nothing" : `revision ${stored.revision}`,
    to: file,
  });
}

/** Resolves with the stored document; with an empty one of revision 0 if there is none yet. */
async function storedOr<T extends { readonly document: string; readonly revision: number }>(
  answer: Promise<T>,
): Promise<T | { readonly document: ""; readonly revision: 0 }> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof AdminError && error.status === 404) return { document: "", revision: 0 };
    throw error;
  }
}

/** Shows which objects change, their changed fields before and after, and the line difference. */
async function preview(
  { source, from }: Extract<DocumentPageRequest, { readonly kind: "preview" }>,
  { client, ports, signal }: LoadOptions,
  limits: Limits,
): Promise<readonly Line[]> {
  const params = { name: source };
  const query = { dry_run: true };
  const file = "file" in from ? await ports.readDocument(from.file, signal) : undefined;
  const change =
    "revision" in from
      ? await client.call("rollback_source", { params, query, body: { revision: from.revision } }, limits)
      : await client.call("put_source", { params, query, body: file ?? "" }, limits);
  if (!change.changed) return previewPage(change);
  // Without permission to read the documents, only the changed objects are shown.
  const stored = change.revision === 0 ? "" : await textOf(client.call("get_source", { params }, limits));
  const next =
    "revision" in from
      ? await textOf(client.call("get_source_revision", { params: { ...params, revision: from.revision } }, limits))
      : file;
  if (stored === undefined || next === undefined) return previewPage(change);
  const names = {
    from: change.revision === 0 ? "nothing" : `revision ${change.revision}`,
    to: "revision" in from ? `revision ${from.revision}` : from.file,
  };
  const lines = previewPage(change, fieldChanges(parsed(stored), parsed(next)));
  return [...lines, BLANK, ...differencePage(stored, next, names)];
}

/**
 * Shows which objects change, and the line difference. For a local file only the line difference is shown, since its
 * node validates it only when it is reloaded.
 */
async function editedPage(
  { source: name, revision, file, text, after }: DocumentChange,
  { client }: LoadOptions,
  limits: Limits,
): Promise<readonly Line[]> {
  const names = { from: file ?? `revision ${revision}`, to: "the edited document" };
  const lines = differencePage(text, after, names);
  if (file !== undefined) return lines;
  const change = await client.call("put_source", { params: { name }, query: { dry_run: true }, body: after }, limits);
  return [...previewPage(change, fieldChanges(parsed(text), parsed(after))), BLANK, ...lines];
}

const textOf = async (answer: Promise<{ readonly document: string }>): Promise<string | undefined> =>
  (await readable(answer))?.document;

/** Resolves with the answer; with `undefined` if reading is not permitted or the document is missing. */
async function readable<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof AdminError) return undefined;
    throw error;
  }
}

/** Maximum length of a document that is parsed here, in UTF-16 units. */
const MAX_DOCUMENT = 1 << 20;

/** Masks and parses a document. Returns `undefined` if it is invalid, which the gateway reports. */
function parsed(document: string): unknown {
  if (document.length > MAX_DOCUMENT) return undefined;
  try {
    const read = parseDocument(masked(document), { logLevel: "silent" });
    return read.errors.length > 0 ? undefined : read.toJS({ maxAliasCount: 100 });
  } catch {
    return undefined;
  }
}

/** Maximum number of sources that are searched. */
const MAX_SOURCES = 64;

async function secretUses(names: readonly string[], { client }: LoadOptions, limits: Limits): Promise<readonly Line[]> {
  const { items } = await client.call("list_sources", {}, limits);
  const looked = items.slice(0, MAX_SOURCES).map(({ name }) => name);
  const found = await Promise.all(
    looked.map(async (source) => {
      try {
        const { document } = await client.call("get_source", { params: { name: source } }, limits);
        return { source, document };
      } catch (error) {
        if (error instanceof AdminError && error.status === 403) return source;
        throw error;
      }
    }),
  );
  const unread = [...found.filter((it) => typeof it === "string"), ...items.slice(MAX_SOURCES).map(({ name }) => name)];
  const documents = found.filter((it) => typeof it !== "string");
  return secretUsesPage(names, documents, unread);
}
