/** Explains connection errors to people, without addresses or content. */

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
]);

/** Returns a sentence for known error codes, the code itself for others, and `undefined` without a code. */
export function connectionErrorText(error: unknown): string | undefined {
  const { code, message } = (error ?? {}) as NodeJS.ErrnoException;
  // This message contains the proxy's address, which is no secret: the operator configured it.
  if (code === "FORWARD_PROXY") return message;
  return typeof code === "string" && code !== "" ? (REASONS.get(code) ?? code) : undefined;
}
