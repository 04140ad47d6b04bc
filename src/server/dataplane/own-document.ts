/** Answers with the gateway's own documents: headers and conditional requests. Source: RFC 9110, sections 8.8.3 and 13. */
import type { IncomingMessage } from "node:http";

export interface OwnDocument {
  /** Body as text; empty if the document has none. */
  readonly body: string;
  /** Status; 200 by default. */
  readonly status?: number;
  /** Content type; `application/json` by default. */
  readonly contentType?: string;
  readonly cacheControl?: string;
  /** Value of the `etag` header. It is compared weakly. */
  readonly etag?: string;
  /** Further header pairs. */
  readonly headers?: readonly string[];
  /** Code of a refusal, for metrics. */
  readonly code?: string;
}

interface RenderedDocument {
  readonly status: number;
  /** Header pairs. */
  readonly headers: readonly string[];
  /** Body as text; `undefined` if none is sent. */
  readonly body: string | undefined;
}

export function renderDocument({ method, headers: asked }: IncomingMessage, document: OwnDocument): RenderedDocument {
  const { body, status = 200, contentType = "application/json", cacheControl, etag, headers = [] } = document;
  const pairs = [...headers];
  if (cacheControl !== undefined) pairs.push("cache-control", cacheControl);
  if (etag !== undefined) pairs.push("etag", etag);
  const isRead = method === "GET" || method === "HEAD";
  if (etag !== undefined && status === 200 && isRead && matchesEtag(asked["if-none-match"], etag)) {
    return { status: 304, headers: pairs, body: undefined };
  }
  if (status === 204) return { status, headers: pairs, body: undefined };
  pairs.push("content-type", contentType, "content-length", String(Buffer.byteLength(body)));
  return { status, headers: pairs, body: method === "HEAD" ? undefined : body };
}

function matchesEtag(condition: string | undefined, etag: string): boolean {
  if (condition === undefined) return false;
  const opaque = (tag: string): string => tag.trim().replace(/^W\//, "");
  return condition.trim() === "*" || condition.split(",").some((one) => opaque(one) === opaque(etag));
}
