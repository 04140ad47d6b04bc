/**
 * Fetches one size-limited document of a server or agent, outside its calls: an agent card, or the supported protocol version.
 */
import type { Pool } from "undici";
import { anySignal, connectionErrorText, formatDuration } from "../../base/index.ts";

const MAX_DOCUMENT_BYTES = 1 << 20;

interface DocumentRequest {
  readonly method: "GET" | "POST";
  /** Path and query at the origin. */
  readonly path: string;
  /** Header pairs. */
  readonly headers: readonly string[];
  readonly body?: string;
  /** Timeout of the whole exchange, in milliseconds, including the connect. */
  readonly limitMs: number;
  readonly signal?: AbortSignal;
}

type FetchedDocument =
  | { readonly kind: "answered"; readonly status: number; readonly contentType: string; readonly text: string }
  /**
   * Failure of the request. `problem` contains no address and quotes nothing from the answer. `isDown`: the answer is missing or
   * incomplete.
   */
  | { readonly kind: "failed"; readonly problem: string; readonly isDown: boolean };

/** Fetches a document. Never rejects, and follows no redirects. */
export async function fetchDocument(pool: Pick<Pool, "request">, request: DocumentRequest): Promise<FetchedDocument> {
  const { method, path, headers, body, limitMs, signal } = request;
  const limit = AbortSignal.timeout(limitMs);
  try {
    const answer = await pool.request({
      method,
      path,
      headers: [...headers, "accept-encoding", "identity"],
      body: body ?? null,
      signal: signal === undefined ? limit : anySignal([signal, limit]),
    });
    const chunks: Buffer[] = [];
    let length = 0;
    for await (const chunk of answer.body) {
      const bytes = Buffer.from(chunk as Uint8Array);
      length += bytes.length;
      // A return from this loop closes the connection.
      if (length > MAX_DOCUMENT_BYTES) {
        return { kind: "failed", problem: `it is larger than ${MAX_DOCUMENT_BYTES} bytes`, isDown: false };
      }
      chunks.push(bytes);
    }
    const { "content-encoding": encoding = "identity", "content-type": type = "" } = answer.headers;
    if (String(encoding).toLowerCase() !== "identity") {
      return { kind: "failed", problem: "it is compressed, which was not requested", isDown: false };
    }
    const text = new TextDecoder().decode(Buffer.concat(chunks));
    return { kind: "answered", status: answer.statusCode, contentType: String(type), text };
  } catch (error) {
    return { kind: "failed", problem: failureText(error, limitMs), isDown: true };
  }
}

/** Returns the reason of a failed request, without an address. */
export function failureText(error: unknown, limitMs: number): string {
  const { name } = error as Error;
  if (name === "TimeoutError") return `no answer within ${formatDuration(limitMs)}`;
  return connectionErrorText(error) ?? "the request failed";
}
