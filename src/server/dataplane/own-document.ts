/** Answers of the gateway's own: their headers, and whether the client has them already. Source: RFC 9110, 8.8.3 and 13. */
import type { IncomingMessage } from "node:http";

export interface OwnDocument {
  /** Empty where there is none. */
  readonly body: string;
  /** 200 when left out. */
  readonly status?: number;
  /** `application/json` when left out. */
  readonly contentType?: string;
  readonly cacheControl?: string;
  /** As it stands in the header. Compared as weak ones are. */
  readonly etag?: string;
  /** Pairs beside these. */
  readonly headers?: readonly string[];
  /** Of a refusal, for metrics. */
  readonly code?: string;
}

export interface OwnAnswer {
  readonly status: number;
  /** Pairs. */
  readonly headers: readonly string[];
  /** Undefined: none is sent. */
  readonly body: string | undefined;
}

export function ownAnswer({ method, headers: asked }: IncomingMessage, document: OwnDocument): OwnAnswer {
  const { body, status = 200, contentType = "application/json", cacheControl, etag, headers = [] } = document;
  const pairs = [...headers];
  if (cacheControl !== undefined) pairs.push("cache-control", cacheControl);
  if (etag !== undefined) pairs.push("etag", etag);
  const isRead = method === "GET" || method === "HEAD";
  if (etag !== undefined && status === 200 && isRead && hasAlready(asked["if-none-match"], etag)) {
    return { status: 304, headers: pairs, body: undefined };
  }
  if (status === 204) return { status, headers: pairs, body: undefined };
  pairs.push("content-type", contentType, "content-length", String(Buffer.byteLength(body)));
  return { status, headers: pairs, body: method === "HEAD" ? undefined : body };
}

function hasAlready(condition: string | undefined, etag: string): boolean {
  if (condition === undefined) return false;
  const opaque = (tag: string): string => tag.trim().replace(/^W\//, "");
  return condition.trim() === "*" || condition.split(",").some((one) => opaque(one) === opaque(etag));
}
