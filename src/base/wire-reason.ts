/** What went wrong on a connection, for people: names neither address nor content. */

const REASONS: ReadonlyMap<string, string> = new Map([
  ["ECONNREFUSED", "nobody listens there"],
  ["ECONNRESET", "the connection broke off"],
  ["EPIPE", "the connection broke off"],
  ["UND_ERR_SOCKET", "the connection broke off"],
  ["UND_ERR_CONNECT_TIMEOUT", "no connection in time"],
  ["UND_ERR_HEADERS_TIMEOUT", "no answer in time"],
  ["UND_ERR_BODY_TIMEOUT", "it stopped sending"],
  ["UND_ERR_HEADERS_OVERFLOW", "the answer's headers are too large"],
  ["UND_ERR_RES_CONTENT_LENGTH_MISMATCH", "the answer has another length than it says"],
  ["ENOTFOUND", "its name does not resolve"],
  ["EAI_AGAIN", "its name does not resolve"],
  ["EHOSTUNREACH", "the network does not lead there"],
  ["ENETUNREACH", "the network does not lead there"],
]);

/** In words where the code of an error is known; else the code, and undefined where it has none. */
export function wireReason(error: unknown): string | undefined {
  const { code, message } = (error ?? {}) as NodeJS.ErrnoException;
  // Names the proxy, whose address is the operator's own.
  if (code === "FORWARD_PROXY") return message;
  return typeof code === "string" && code !== "" ? (REASONS.get(code) ?? code) : undefined;
}
