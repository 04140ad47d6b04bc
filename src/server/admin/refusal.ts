/** Refusals of the admin plane, and the conversion of any failure to an answer. Source: design decisions, section 3. */

import { asRefusal, GatewayError, type RefusalCode } from "../../base/index.ts";
import { ClusterError } from "../cluster/index.ts";

/** Returns a refusal. `details`: information for programs; must not contain a credential, a secret value or a body. */
export function refusal(code: RefusalCode, message: string, details?: unknown, cause?: unknown): GatewayError {
  return new GatewayError(code, message, { details, cause });
}

/** Refusal codes by the state machine's code for a refused command. All other codes become `conflict`. */
const COMMAND_REFUSALS: Readonly<Record<string, RefusalCode>> = {
  invalid: "invalid",
  not_found: "not_found",
  stale: "stale",
  too_large: "entry_too_large",
  version_behind: "refused",
  version_reused: "refused",
  malformed_state: "refused",
  digest_mismatch: "refused",
  blob_limit: "busy",
};

/** Returns the refusal for a command that the state machine refused. Its own code is in `details.reason` if it differs. */
export function refusedCommand({ code, message }: { readonly code: string; readonly message: string }): GatewayError {
  const own = Object.hasOwn(COMMAND_REFUSALS, code) ? COMMAND_REFUSALS[code] : undefined;
  return refusal(own ?? "conflict", sentence(message), own === code ? undefined : { reason: code });
}

/** Turns a message of another module, which is written to be part of a line, into a sentence. */
function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? "" : "."}`;
}

/** Converts an error of the cluster. `removed` becomes `no_leader`, because a removed node has no leader either. */
function clusterRefusal(error: unknown): GatewayError | undefined {
  if (!(error instanceof ClusterError)) return undefined;
  const { code, details } = error;
  const message = sentence(error.message);
  return code === "removed" ? refusal("no_leader", message, { reason: code }) : refusal(code, message, details);
}

interface ErrorAnswer {
  readonly code: RefusalCode;
  /** `unknown` if the request may still take effect. */
  readonly outcome: string | undefined;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** Internal error to log; the answer does not contain its text. */
  readonly fault: unknown;
}

export function errorAnswer(error: unknown): ErrorAnswer {
  const refused = clusterRefusal(error) ?? asRefusal(error);
  const { code, status, message, details } = refused;
  const statedOutcome = (details as { readonly outcome?: unknown } | null | undefined)?.outcome;
  return {
    code,
    outcome: typeof statedOutcome === "string" ? statedOutcome : undefined,
    status,
    // In seconds: by then a full queue has mostly emptied, and an election has ended.
    headers: code === "busy" || code === "no_leader" ? { "retry-after": "1" } : {},
    body: `${JSON.stringify({ error: { code, message, ...(details !== undefined && { details }) } })}\n`,
    fault: code === "internal" ? (refused.cause ?? refused) : undefined,
  };
}
