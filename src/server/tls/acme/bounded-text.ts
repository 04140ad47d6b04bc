/** Shortens messages of remote servers and of the system, for the log and for operators. */
import { connectionErrorText } from "../../../base/index.ts";

const MAX_LENGTH = 300;

/** Returns text of a remote server as one bounded line without control characters. */
export function remoteText(text: unknown): string {
  if (typeof text !== "string") return "";
  const line = text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\s]+/gu, " ").trim();
  return line.length > MAX_LENGTH ? `${line.slice(0, MAX_LENGTH)}…` : line;
}

const TLS: ReadonlyMap<string, string> = new Map([
  ["CERT_HAS_EXPIRED", "its certificate has expired; is the clock of this machine right?"],
  ["CERT_NOT_YET_VALID", "its certificate is not valid yet; is the clock of this machine right?"],
  ["DEPTH_ZERO_SELF_SIGNED_CERT", "its certificate is not trusted; check tls.trusted_roots"],
  ["SELF_SIGNED_CERT_IN_CHAIN", "its certificate is not trusted; check tls.trusted_roots"],
  ["UNABLE_TO_GET_ISSUER_CERT", "its certificate is not trusted; check tls.trusted_roots"],
  ["UNABLE_TO_GET_ISSUER_CERT_LOCALLY", "its certificate is not trusted; check tls.trusted_roots"],
  ["UNABLE_TO_VERIFY_LEAF_SIGNATURE", "its certificate is not trusted; check tls.trusted_roots"],
  ["ERR_TLS_CERT_ALTNAME_INVALID", "its certificate is for another name"],
]);

/** Describes why a connection or a wait failed. */
export function systemErrorText(error: unknown): string {
  const { code, name } = (error ?? {}) as { readonly code?: unknown; readonly name?: unknown };
  if (name === "TimeoutError") return "no answer in time";
  if (typeof code === "string") {
    const known = TLS.get(code);
    if (known !== undefined) return known;
  }
  const message = connectionErrorText(error);
  if (message !== undefined) return message;
  return error instanceof Error ? remoteText(error.message) : "unknown error";
}
