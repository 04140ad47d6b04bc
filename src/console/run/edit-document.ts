/** Opens the document of a source in an editor. A draft that was not written is offered again by the next edit. */

import type { AdminClient } from "../../admin-api/index.ts";
import type { DocumentChange, OwnedDocument } from "../model/documents.ts";
import type { ConsolePorts } from "../model/ports.ts";
import type { LocalJob } from "../model/view.ts";

const TIME_LIMIT_MS = 60_000;

/** Last drafts by the name of the source. */
export type Drafts = Map<string, DocumentChange>;

interface EditOptions {
  readonly client: AdminClient;
  readonly ports: Pick<ConsolePorts, "readDocument" | "editText" | "documents">;
  readonly drafts: Drafts;
  readonly signal: AbortSignal;
  runWithoutTerminal<T>(work: () => Promise<T>): Promise<T>;
}

/** Edits the document of a source. Resolves with the change; with `undefined` if the text was not changed. */
export async function editDocument(
  job: Extract<LocalJob, { readonly kind: "edit_document" }>,
  { client, ports, drafts, runWithoutTerminal, signal }: EditOptions,
): Promise<DocumentChange | undefined> {
  const document = await ownedDocument(job, client, ports, signal);
  const draft = drafts.get(job.source);
  // A draft based on another text would revert what was written since.
  const initial = draft?.text === document.text && draft.file === document.file ? draft.after : document.text;
  const edited = await runWithoutTerminal(() => ports.editText(initial, job.source, signal));
  const after = document.file === undefined ? edited : await ports.documents.withRaisedVersion(document.text, edited);
  if (after === document.text) {
    drafts.delete(job.source);
    return undefined;
  }
  const change = { ...document, after };
  drafts.set(job.source, change);
  return change;
}

async function ownedDocument(
  { source, path }: Extract<LocalJob, { readonly kind: "edit_document" }>,
  client: AdminClient,
  ports: Pick<ConsolePorts, "readDocument">,
  signal: AbortSignal,
): Promise<OwnedDocument> {
  const limits = { signal, timeLimitMs: TIME_LIMIT_MS };
  const { document, revision } = await client.call("get_source", { params: { name: source } }, limits);
  if (path === undefined) return { source, revision, file: undefined, text: document };
  return { source, revision, file: path, text: await ports.readDocument(path, signal) };
}
