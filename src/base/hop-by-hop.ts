/**
 * Names, in lower case, of headers that belong to one connection and are never forwarded (RFC 9110 section 7.6.1), and
 * `proxy-connection`, which is common although no standard defines it.
 */
export const HOP_BY_HOP_HEADERS: readonly string[] = [
  "connection",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
];
