/** Effects of a suspension of each kind on callers, and its description in one line. All foreign text is escaped here. */

import type { SuspensionKind, SuspensionRecord } from "../../admin-api/index.ts";
import { escapeControls } from "../../base/index.ts";
import { humanDuration } from "../format/times.ts";

export interface Suspendable {
  readonly kind: SuspensionKind;
  readonly name: string;
}

/** Returns `provider:acme-chat`. */
export const labelOf = ({ kind, name }: Suspendable): string => `${kind}:${escapeControls(name)}`;

interface KindText {
  readonly one: string;
  readonly many: string;
  /** Describes the effect of a suspension. `names` is one name, or several separated by commas. */
  suspended(names: string): string;
  /** Text after the label of one lifted subject. */
  readonly lifted: string;
}

export const KIND_TEXTS: Readonly<Record<SuspensionKind, KindText>> = {
  provider: {
    one: "provider",
    many: "providers",
    suspended: (names) => `new requests skip ${names}`,
    lifted: "takes traffic again",
  },
  key: {
    one: "key",
    many: "keys",
    suspended: (names) => `requests with ${names} are refused`,
    lifted: "is accepted again",
  },
  profile: {
    one: "profile",
    many: "profiles",
    suspended: (names) => `requests of callers with ${names} are refused`,
    lifted: "has its callers accepted again",
  },
  model: {
    one: "model",
    many: "models",
    suspended: (names) => `requests for ${names} are refused`,
    lifted: "is served again",
  },
  mcp: {
    one: "MCP server",
    many: "MCP servers",
    suspended: (names) => `calls to ${names} are refused`,
    lifted: "is open to callers again",
  },
  a2a: {
    one: "agent",
    many: "agents",
    suspended: (names) => `calls to ${names} are refused`,
    lifted: "is open to callers again",
  },
  issuer: {
    one: "issuer",
    many: "issuers",
    suspended: (names) => `requests with tokens of ${names} are refused`,
    lifted: "has its tokens accepted again",
  },
};

/** Returns `lifts in 12m 02s` or `until lifted`. */
export function untilText({ until }: Pick<SuspensionRecord, "until">, now: number): string {
  return until === null ? "until lifted" : `lifts in ${humanDuration(Date.parse(until) - now)}`;
}

/** Describes a suspension: `"key rotation" by alice@example, lifts in 12m 02s`. */
export function suspensionText(of: Pick<SuspensionRecord, "reason" | "by" | "until">, now: number): string {
  return `"${escapeControls(of.reason)}" by ${escapeControls(of.by)}, ${untilText(of, now)}`;
}
