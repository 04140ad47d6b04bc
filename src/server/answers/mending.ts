/** What the headers of an answer say of its body must be true of the body that leaves. */

export interface Mending {
  /** Frames may be shown other than they came. */
  readonly isStream?: boolean;
  readonly isRewritten?: boolean;
  readonly isDecoded?: boolean;
  /** It is UTF-8 now. */
  readonly isTranscoded?: boolean;
  /** Of the body, where it is another one. */
  readonly length?: number;
}

/** Headers that are true of one sequence of bytes, in lower case. RFC 9110, 8.8; RFC 9530; RFC 3230; RFC 1864. */
export const HEADERS_OF_THE_BODY: ReadonlySet<string> = new Set([
  "content-digest",
  "repr-digest",
  "digest",
  "content-md5",
  "etag",
]);

/** Statuses and methods whose answers have no body. RFC 9110, 6.4.1. */
export const isBodiless = (method: string | undefined, status: number): boolean =>
  method === "HEAD" || status === 204 || status === 304;

/** Of a body that is UTF-8 now. */
export const inUtf8 = (contentType: string): string =>
  `${contentType.replace(/;\s*charset\s*=\s*("[^"]*"|[^;]*)/i, "")}; charset=utf-8`;
