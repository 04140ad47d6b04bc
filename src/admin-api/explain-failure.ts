/** Explains a failed call: what failed, why, and what to try. The verbs print it on stderr, the console shows it. */

import { type AdminAddress, addressText } from "./admin-address.ts";
import type { AdminError } from "./admin-error.ts";

interface Explanation {
  readonly text: string;
  /** Text after `try:`. */
  readonly remedy?: string;
  /** True if no gateway answered. */
  readonly isUnreachable: boolean;
}

/** Explains an error. Foreign text is included unchanged; the display must escape control characters. */
export function explain({ status, code, message, cause, details }: AdminError, address: AdminAddress): Explanation {
  switch (code) {
    case "unreachable":
      return { ...explainUnreachable(cause, address), isUnreachable: true };
    case "timeout":
      return {
        text: `${addressText(address)}: ${message}`,
        remedy: "another node of its cluster; this one is stopped or overloaded",
        isUnreachable: true,
      };
    case "unintelligible":
      return {
        text: `${addressText(address)}: ${message}`,
        remedy: "the address that `admin.listen` of the node file names; this one does not answer as the admin API",
        isUnreachable: false,
      };
    case "unauthenticated": {
      // The sign-in failed before a request was sent; its message contains the remedy.
      if (cause !== undefined) return { text: message, isUnreachable: false };
      const text = `${status} ${code}: ${message}`;
      return address.kind === "url"
        ? { text, remedy: `gateway login ${address.url}`, isUnreachable: false }
        : { text, isUnreachable: false };
    }
    case "no_leader":
    case "busy": {
      const isUnknown = (details as { readonly outcome?: unknown } | undefined)?.outcome === "unknown";
      const remedy = isUnknown ? "again, after checking whether it was already done" : "again in a moment";
      return { text: `${status} ${code}: ${message}`, remedy, isUnreachable: false };
    }
    default:
      return { text: `${status} ${code}: ${message}`, isUnreachable: false };
  }
}

function explainUnreachable(cause: unknown, address: AdminAddress): Omit<Explanation, "isUnreachable"> {
  const code = codeOf(cause);
  const [reason, remedy] =
    address.kind === "socket" ? explainSocketError(code) : explainNetworkError(code, address.url);
  const text = `cannot reach ${addressText(address)}: ${reason ?? (cause instanceof Error ? cause.message : String(cause))}`;
  return remedy === undefined ? { text } : { text, remedy };
}

type ReasonAndRemedy = readonly [why: string | undefined, remedy?: string | undefined];

function explainSocketError(code: string | undefined): ReasonAndRemedy {
  switch (code) {
    case "ENOENT":
    case "ENOTDIR":
      return ["there is no such socket", "-socket with the path that `admin.local_socket` of the node file names"];
    case "EACCES":
    case "EPERM":
      return ["permission denied", "the same command as the user who runs the gateway"];
    case "EINVAL":
    case "ENAMETOOLONG":
      return ["its path is too long for a socket"];
    case "ECONNREFUSED":
      return ["no process listens on it", "starting the gateway that owns the socket"];
    case "ECONNRESET":
    case "EPIPE":
      return ["the connection ended unexpectedly", "again, and see the gateway's log"];
    default:
      return [undefined];
  }
}

function explainNetworkError(code: string | undefined, url: string): ReasonAndRemedy {
  const isTls = url.startsWith("https:");
  switch (code) {
    case "ECONNREFUSED":
      return ["nothing listens there", "the address that `admin.listen` of the node file names"];
    case "ENOTFOUND":
    case "EAI_AGAIN":
      return ["its name does not resolve"];
    case "ETIMEDOUT":
    case "EHOSTUNREACH":
    case "ENETUNREACH":
      return ["no route to its network"];
    case "EPROTO":
    case "ERR_SSL_WRONG_VERSION_NUMBER":
    case "ERR_SSL_PACKET_LENGTH_TOO_LONG":
      return ["it does not speak TLS", `-url ${url.replace(/^https:/, "http:")}`];
    case "ECONNRESET":
    case "EPIPE":
      return ["the connection ended unexpectedly", isTls ? undefined : `-url ${url.replace(/^http:/, "https:")}`];
    case "ERR_TLS_CERT_ALTNAME_INVALID":
      return ["its certificate is for another name"];
    case "CERT_HAS_EXPIRED":
      return ["its certificate has expired"];
    default:
      break;
  }
  if (code?.startsWith("HPE_"))
    return ["it does not speak HTTP", isTls ? undefined : `-url ${url.replace(/^http:/, "https:")}`];
  if (code !== undefined && /SELF_SIGNED|UNABLE_TO_|CERT_/.test(code)) {
    return [
      `its certificate is not trusted (${code})`,
      "NODE_EXTRA_CA_CERTS=FILE with the certificate of its authority",
    ];
  }
  return [undefined];
}

/** Returns the code of the innermost failure; a host with several addresses has one for each. */
function codeOf(error: unknown): string | undefined {
  let at = error;
  for (let depth = 0; depth < 5 && at instanceof Error; depth += 1) {
    const code: unknown = Reflect.get(at, "code");
    if (typeof code === "string") return code;
    at = at instanceof AggregateError ? at.errors[0] : at.cause;
  }
  return undefined;
}
