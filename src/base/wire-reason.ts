/** Explains connection errors to people, without addresses or content. */

const NO_TLS = "it does not speak TLS; its URL may have to begin with `http://`";

const REASONS: ReadonlyMap<string, string> = new Map([
  ["ECONNREFUSED", "nothing listens there"],
  ["ECONNRESET", "the connection ended unexpectedly"],
  ["EPIPE", "the connection ended unexpectedly"],
  ["UND_ERR_SOCKET", "the connection ended unexpectedly"],
  ["UND_ERR_CONNECT_TIMEOUT", "no connection in time"],
  ["UND_ERR_HEADERS_TIMEOUT", "no answer in time"],
  ["UND_ERR_BODY_TIMEOUT", "it stopped sending"],
  ["UND_ERR_HEADERS_OVERFLOW", "the answer's headers are too large"],
  ["UND_ERR_RES_CONTENT_LENGTH_MISMATCH", "the answer has another length than it says"],
  ["ENOTFOUND", "its name does not resolve"],
  ["EAI_AGAIN", "its name does not resolve"],
  ["EHOSTUNREACH", "no route to its network"],
  ["ENETUNREACH", "no route to its network"],
  ["ETIMEDOUT", "no connection in time"],
  ["EPROTO", NO_TLS],
  ["ERR_SSL_WRONG_VERSION_NUMBER", NO_TLS],
  ["ERR_SSL_PACKET_LENGTH_TOO_LONG", NO_TLS],
  ["CERT_HAS_EXPIRED", "its certificate has expired"],
  ["CERT_NOT_YET_VALID", "its certificate is not valid yet"],
  ["ERR_TLS_CERT_ALTNAME_INVALID", "its certificate is for another name"],
]);

/** Matches the codes of a certificate whose authority is unknown. */
const UNTRUSTED =
  /^CERT_SIGNATURE_FAILURE|^(?:DEPTH_ZERO_)?SELF_SIGNED_CERT|^UNABLE_TO_(?:GET_ISSUER_CERT|VERIFY_LEAF_SIGNATURE)/;

/** Returns a sentence for known error codes, the code itself for others, and `undefined` without a code. */
export function connectionErrorText(error: unknown): string | undefined {
  const { code, message } = (error ?? {}) as NodeJS.ErrnoException;
  // This message contains the proxy's address, which is no secret: the operator configured it.
  if (code === "FORWARD_PROXY") return message;
  if (typeof code !== "string" || code === "") return undefined;
  if (UNTRUSTED.test(code)) return `its certificate is not trusted: ${code}; name its authority in NODE_EXTRA_CA_CERTS`;
  if (code.startsWith("HPE_")) return `its answer is not HTTP (${code}); its URL may have to begin with \`https://\``;
  return REASONS.get(code) ?? code;
}
