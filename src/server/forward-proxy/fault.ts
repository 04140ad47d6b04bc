/** Error of a forward proxy that cannot be used, or that did not let a connection through. The message may be shown. */
import { connectionErrorText } from "../../base/index.ts";
import type { ForwardProxy } from "./proxy-rules.ts";

export class ForwardProxyFault extends Error {
  readonly code = "FORWARD_PROXY";
  /** System call of a failed connect, by which code that tries several servers recognizes that nothing was sent. */
  readonly syscall = "connect";

  constructor(proxy: ForwardProxy, what: string, cause?: unknown) {
    super(`the forward proxy ${proxy.displayAddress} ${what}`, { cause });
    this.name = "ForwardProxyFault";
  }
}

/**
 * Returns the error of a connection that failed behind the proxy: most often because of the certificate of a proxy that
 * intercepts TLS.
 */
export function faultBehindProxy(proxy: ForwardProxy, target: string, cause: Error): ForwardProxyFault {
  return new ForwardProxyFault(
    proxy,
    `let the connection to ${target} through, which failed: ${reasonOf(cause)}`,
    cause,
  );
}

/** Matches codes of a certificate whose authority is not trusted. */
const UNTRUSTED = /SELF_SIGNED|UNABLE_TO_/;
const TRUST_HINT = "; if the proxy intercepts TLS, set NODE_EXTRA_CA_CERTS to the PEM file of its authority";

function reasonOf(cause: Error): string {
  const { code = "" } = cause as NodeJS.ErrnoException;
  if (UNTRUSTED.test(code)) return `its certificate is not trusted: ${code}${TRUST_HINT}`;
  return connectionErrorText(cause) ?? cause.message;
}

const HINTS: ReadonlyMap<number, string> = new Map([
  [403, "it does not allow that destination; allow it there, or name the host in NO_PROXY"],
  [407, "it requires a user and password, or refuses those in the proxy variable (http://USER:PASSWORD@HOST:PORT)"],
  [502, "it cannot reach the destination"],
  [503, "it cannot reach the destination"],
  [504, "the destination did not answer it in time"],
]);

export function refusedByProxy(proxy: ForwardProxy, target: string, status: number): ForwardProxyFault {
  const hint = HINTS.get(status);
  return new ForwardProxyFault(proxy, `answered ${status} for ${target}${hint === undefined ? "" : `: ${hint}`}`);
}
