/** Ledger entry for the last round of a provider. */

import type { Scope } from "./judge-usage.ts";
import type { Fields } from "./ledger-entry.ts";

export interface Round {
  readonly provider: string;
  readonly type: "compat" | "messages";
  readonly scope: Scope;
  /** Last request for the report, and last success, in milliseconds since 1970. */
  readonly triedAt: number;
  readonly fetchedAt: number | undefined;
  /** Sentence without an address or a credential; `undefined` if the round succeeded. */
  readonly error: string | undefined;
}

export const roundFields = ({ type, scope, triedAt, fetchedAt, error }: Round): Fields => ({
  type,
  scope,
  "tried.at": triedAt,
  "fetched.at": fetchedAt ?? null,
  error: error === undefined ? null : error.slice(0, 1_000),
});

export function parseRound(provider: string, fields: Fields): Round | undefined {
  const { type, scope, error, "tried.at": triedAt, "fetched.at": fetchedAt } = fields;
  if ((type !== "compat" && type !== "messages") || (scope !== "organisation" && scope !== "keys")) return undefined;
  return {
    provider,
    type,
    scope,
    triedAt: typeof triedAt === "number" ? triedAt : 0,
    fetchedAt: typeof fetchedAt === "number" ? fetchedAt : undefined,
    error: typeof error === "string" ? error : undefined,
  };
}
