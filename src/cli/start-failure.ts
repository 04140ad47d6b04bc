/** Converts the error of a failed start to an exit status and a message. Statuses: design decisions, section 5. */

import { GatewayError } from "../base/index.ts";
import type { ExitStatus } from "./process-io.ts";

const STORAGE = 11;
export const CANNOT_LISTEN = 12;

const CANNOT_BIND: ReadonlyMap<string, string> = new Map([
  ["EADDRINUSE", "another process uses the address"],
  ["EACCES", "permission denied"],
  ["EADDRNOTAVAIL", "this machine has no such address"],
  ["ENOTFOUND", "the name does not resolve"],
  ["ERR_MODULE_NOT_FOUND", "an optional package is missing"],
  ["EAI_AGAIN", "the name does not resolve"],
]);

const REMEDIES: ReadonlyMap<string, string> = new Map([
  ["EADDRINUSE", "stop it (`ss -ltnp` names it), or use another address"],
  ["EACCES", "use a port from 1024 on, or give the process CAP_NET_BIND_SERVICE"],
  ["EADDRNOTAVAIL", "use one of its own, or leave the host out for all of them"],
]);

/** Returns a short reason why an address could not be bound. */
export const bindReason = ({ code, message }: NodeJS.ErrnoException): string => CANNOT_BIND.get(code ?? "") ?? message;

export function startFailure(error: unknown): { readonly status: ExitStatus; readonly message: string } {
  if (error instanceof GatewayError) return { status: 1, message: error.message };
  const { code, syscall, message, cause } = error as NodeJS.ErrnoException;
  // An error that names the listener has the system's error as its cause.
  const systemCode = code ?? (cause as NodeJS.ErrnoException | undefined)?.code ?? "";
  const reason = CANNOT_BIND.get(systemCode);
  if (reason !== undefined) {
    const remedy = REMEDIES.get(systemCode);
    const hint = remedy === undefined ? "" : `: ${remedy}`;
    return { status: CANNOT_LISTEN, message: `cannot listen: ${reason} (${message})${hint}` };
  }
  // Any other reason, such as a link-local address without a zone.
  if (syscall === "listen") return { status: CANNOT_LISTEN, message: `cannot listen: ${message}` };
  const { name } = error as Error;
  if (name === "SocketPathError") return { status: CANNOT_LISTEN, message: `cannot listen: ${message}` };
  if (name === "StorageError" || name === "UpgradeRequired" || name === "AuditError")
    return { status: STORAGE, message };
  if (name === "JoinError") return { status: CANNOT_LISTEN, message };
  return { status: 1, message: `cannot start: ${message}` };
}
