/** Writes from local files: documents, which replace only the revision that was shown, and secrets. */

import type { AdminClient } from "../../admin-api/index.ts";
import type { JobRequest } from "../model/dialog.ts";
import type { ConsolePorts } from "../model/ports.ts";

const TIME_LIMIT_MS = 60_000;

/** Returns the document of a revision, or the active one. */
export async function storedDocument(
  client: AdminClient,
  { source: name, revision }: { readonly source: string; readonly revision?: number },
  signal: AbortSignal,
): Promise<string> {
  const limits = { signal, timeLimitMs: TIME_LIMIT_MS };
  const { document } =
    revision === undefined
      ? await client.call("get_source", { params: { name } }, limits)
      : await client.call("get_source_revision", { params: { name, revision } }, limits);
  return document;
}

export async function putDocument(
  client: AdminClient,
  { source, revision }: Extract<JobRequest, { readonly kind: "put_document" }>,
  document: string,
  signal: AbortSignal,
): Promise<string> {
  const change = await client.call(
    "put_source",
    { params: { name: source }, query: {}, body: document, ...(revision !== undefined && { ifMatch: revision }) },
    { signal, timeLimitMs: TIME_LIMIT_MS },
  );
  if (!change.changed) return `${source}: the document equals the stored one, revision ${change.revision}`;
  const count = change.warnings.length;
  const warnings = count === 0 ? "" : `, ${count} ${count === 1 ? "warning" : "warnings"}`;
  return `${source}: revision ${change.revision} in force${warnings}`;
}

/** Writes a secret without the line end that editors leave at the end of a file. */
export async function putSecret(
  client: AdminClient,
  { name }: Extract<JobRequest, { readonly kind: "put_secret" }>,
  text: string,
  signal: AbortSignal,
): Promise<string> {
  const value = text.replace(/\r?\n$/, "");
  if (value === "") throw new Error("the file is empty; nothing was sealed");
  const { version } = await client.call(
    "put_secret",
    { params: { name }, body: { value } },
    { signal, timeLimitMs: TIME_LIMIT_MS },
  );
  return `secret ${name}: version ${version} is sealed`;
}

/** Writes a changed document. Rejects if writing or reloading fails; a file that was already written stays. */
export async function writeChange(
  client: AdminClient,
  { change, summary }: Extract<JobRequest, { readonly kind: "write_change" }>,
  documents: ConsolePorts["documents"],
  signal: AbortSignal,
): Promise<string> {
  const { source, revision, file, after } = change;
  if (file === undefined) {
    const params = { name: source };
    const input = { params, query: {}, body: after, ifMatch: revision };
    const put = await client.call("put_source", input, { signal, timeLimitMs: TIME_LIMIT_MS });
    return `${summary}: ${source} revision ${put.revision} in force`;
  }
  await documents.write(change, signal);
  try {
    const done = await client.call("reload_config", {}, { signal, timeLimitMs: TIME_LIMIT_MS });
    if (done.applied) return `${summary}: ${file} is written and applied, revision ${done.revision ?? "unknown"}`;
    throw new Error(done.file_status.message);
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new Error(
      `${file} is written but not applied, and the previous configuration stays in force: ${reason}. Correct it, then press R in :config`,
      { cause },
    );
  }
}
