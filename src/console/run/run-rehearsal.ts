/** Rehearses a change of a document on the requests of the last hour; writes nothing. */

import { type AdminClient, AdminError } from "../../admin-api/index.ts";
import type { ConsolePorts } from "../model/ports.ts";
import type { RehearsalOutcome, RehearsalRequest } from "../model/rehearsal.ts";

/** Time limit of a rehearsal, in milliseconds. A dialog can be confirmed without its result. */
const TIME_LIMIT_MS = 5_000;

interface RehearseOptions {
  readonly client: AdminClient;
  readonly ports: Pick<ConsolePorts, "readDocument">;
  readonly signal: AbortSignal;
  /** Returns the message of an error, without control characters. */
  wordsOf(error: unknown): string;
}

export async function rehearse(request: RehearsalRequest, options: RehearseOptions): Promise<RehearsalOutcome> {
  const { client, signal, wordsOf } = options;
  try {
    const document = await documentOf(request, options);
    const body = { source: request.source, document };
    const result = await client.call("rehearse", { body }, { signal, timeLimitMs: TIME_LIMIT_MS });
    return result.nodes.length === 0 && result.disabled.length > 0
      ? { kind: "none", reason: "no node records requests: `GATEWAY_REHEARSAL_MEMORY` is 0" }
      : { kind: "done", result };
  } catch (error) {
    signal.throwIfAborted();
    return {
      kind: "none",
      reason: (error instanceof AdminError ? notRehearsedText(error) : undefined) ?? wordsOf(error),
    };
  }
}

async function documentOf(
  { source: name, from }: RehearsalRequest,
  { client, ports, signal }: RehearseOptions,
): Promise<string> {
  switch (from.kind) {
    case "document":
      return from.document;
    case "file":
      return await ports.readDocument(from.file, signal);
    case "revision": {
      const params = { name, revision: from.revision };
      const limits = { signal, timeLimitMs: TIME_LIMIT_MS };
      return (await client.call("get_source_revision", { params }, limits)).document;
    }
    default:
      return from satisfies never;
  }
}

/** Explains why nothing was rehearsed; `undefined` if the error's own message says it. */
function notRehearsedText({ code, status }: AdminError): string | undefined {
  if (code === "refused") return "the document would be refused";
  if (code === "timeout") return `it took longer than ${TIME_LIMIT_MS / 1000} s`;
  if (code === "busy") return "the gateway is rehearsing other changes";
  if (status === 403) return "the policy does not permit it";
  if (status === 404) return "the node runs an earlier version";
  return undefined;
}
