/**
 * Refuses callers and upstreams that operators have suspended. Source: design decisions, section 2 (`suspended`) and section 3.
 */
import { GatewayError } from "../../../base/index.ts";
import type { Caller } from "../../auth/index.ts";
import type { SuspendedKind, Suspension, Suspensions } from "../ports.ts";

const CALLER_KINDS: ReadonlySet<SuspendedKind> = new Set(["key", "profile", "issuer"]);

const DISPLAY_NAMES: Readonly<Record<SuspendedKind, string>> = {
  provider: "Provider",
  key: "This key",
  profile: "The profile",
  model: "The model",
  mcp: "MCP server",
  a2a: "Agent",
  issuer: "The issuer",
};

/** Throws `suspended` if the caller's key, profile or issuer is suspended. */
export function admitCaller({ key, profile, issuer }: Caller, suspensions: Suspensions): void {
  if (!suspensions.any) return;
  if (key !== undefined) refuseSuspended("key", key.name, suspensions);
  if (profile !== undefined) refuseSuspended("profile", profile, suspensions);
  if (issuer !== undefined) refuseSuspended("issuer", issuer, suspensions);
}

export function refuseSuspended(kind: SuspendedKind, name: string, suspensions: Suspensions): void {
  const suspension = suspensions.of(kind, name);
  if (suspension !== undefined) throw suspendedError(kind, name, suspension, suspensions.now());
}

/** Returns the refusal. `now`: time of the suspensions, in milliseconds since 1970. */
export function suspendedError(
  kind: SuspendedKind,
  name: string,
  { reason, until }: Suspension,
  now: number,
): GatewayError {
  const isOfCaller = CALLER_KINDS.has(kind);
  // The name is left out for the caller's own key, profile or issuer: it knows its key, and need not learn internal names.
  const named = isOfCaller ? DISPLAY_NAMES[kind] : `${DISPLAY_NAMES[kind]} ${name}`;
  const suffix = reason === "" ? "." : `: ${reason}`;
  return new GatewayError("suspended", `${named} is suspended${suffix}`, {
    by: { kind: "suspension", name: `${kind}:${name}` },
    ...(isOfCaller && { suspended: "caller" as const }),
    ...(until !== null && { retryAfterSeconds: Math.max(1, Math.ceil((until - now) / 1_000)) }),
  });
}
