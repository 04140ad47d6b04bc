/** Pages that take reads of their own: documents, their differences, and what a document would change. */

import { type AdminClient, AdminError } from "../../admin-api/index.ts";
import type { ConsolePorts } from "../model/ports.ts";
import type { Line } from "../model/text.ts";
import type { PageRequest } from "../model/view.ts";
import { differencePage } from "../pages/difference.ts";
import { documentPage } from "../pages/document.ts";
import { previewPage, refusalPage } from "../pages/preview.ts";

const TIME_LIMIT_MS = 60_000;

export interface LoadOptions {
  readonly client: AdminClient;
  readonly ports: Pick<ConsolePorts, "readDocument">;
  readonly signal: AbortSignal;
}

/** Rejects with `AdminError`, or with what reading a file of this machine failed with. */
export async function loadPage(request: PageRequest, options: LoadOptions): Promise<readonly Line[]> {
  const { client, signal } = options;
  const limits = { signal, timeLimitMs: TIME_LIMIT_MS };
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
    case "preview":
      try {
        return previewPage(await preview(request, options, limits));
      } catch (error) {
        if (error instanceof AdminError && error.code === "refused") return refusalPage(error);
        throw error;
      }
    default:
      return request satisfies never;
  }
}

async function preview(
  { source, from }: Extract<PageRequest, { readonly kind: "preview" }>,
  { client, ports, signal }: LoadOptions,
  limits: { readonly signal: AbortSignal; readonly timeLimitMs: number },
) {
  const params = { name: source };
  const query = { dry_run: true };
  if ("revision" in from) {
    return await client.call("rollback_source", { params, query, body: { revision: from.revision } }, limits);
  }
  return await client.call("put_source", { params, query, body: await ports.readDocument(from.file, signal) }, limits);
}
