/** Updates the headers of an answer that describe its body after the body was rewritten. */

export interface BodyChange {
  /** Whether the shown frames may differ from the received ones. */
  readonly isStream?: boolean;
  readonly isRewritten?: boolean;
  readonly isDecoded?: boolean;
  /** Whether the body was converted to UTF-8. */
  readonly isTranscoded?: boolean;
  /** Length of the body, if it was replaced. */
  readonly length?: number;
}

/** Headers that describe one exact sequence of bytes, in lower case (RFC 9110, 8.8; RFC 9530; RFC 3230; RFC 1864). */
export const BODY_DIGEST_HEADERS: ReadonlySet<string> = new Set([
  "content-digest",
  "repr-digest",
  "digest",
  "content-md5",
  "etag",
]);

/** Returns whether an answer to this method, or with this status, has no body (RFC 9110, 6.4.1). */
export const isBodiless = (method: string | undefined, status: number): boolean =>
  method === "HEAD" || status === 204 || status === 304;

/** Returns the content type of a body that was converted to UTF-8. */
export const withUtf8Charset = (contentType: string): string =>
  `${contentType.replace(/;\s*charset\s*=\s*("[^"]*"|[^;]*)/i, "")}; charset=utf-8`;
