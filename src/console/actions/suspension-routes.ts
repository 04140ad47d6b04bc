/**
 * Routing of requests once providers are suspended, from what the gateway lists: each name or pattern has a provider and a
 * failover list, which is tried in order. Source: specification document 3 (`failover`).
 *
 * The result is what the lists allow, not a promise: access rules and dialects may keep a request from another provider. Names
 * are not escaped here.
 */

import type { SuspensionKind, SuspensionRecord } from "../../admin-api/index.ts";
import { type Data, rowsOf } from "../model/data.ts";

interface Rerouting {
  /** Number of rows of the models list whose first provider is suspended. */
  readonly routed: number;
  /** Providers that take over first, in the order of the rows of the models list. */
  readonly replacements: readonly string[];
  /** Names and patterns that have a provider now and would have none. */
  readonly unserved: readonly string[];
}

/** Returns where requests would go if these providers were suspended. */
export function reroutingOf(data: Data, suspended: readonly string[]): Rerouting {
  const isServing = servingNow(data);
  const isServingThen = (name: string): boolean => isServing(name) && !suspended.includes(name);
  const models = rowsOf(data, "models");
  const routed = models.filter(({ provider }) => suspended.includes(provider));
  return {
    routed: routed.length,
    replacements: [...new Set(routed.flatMap(({ failover }) => failover.find(isServingThen) ?? []))],
    unserved: models
      .map(({ model, provider, failover }) => ({ model, plan: [provider, ...failover] }))
      .filter(({ plan }) => plan.some(isServing) && !plan.some(isServingThen))
      .map(({ model }) => model),
  };
}

/**
 * Returns a function that tells whether a provider exists and is not suspended. While the providers are unknown, each counts as
 * existing.
 */
export function servingNow(data: Data): (name: string) => boolean {
  const backends = data.get({ id: "list_backends" })?.value;
  const known = backends && new Set(backends.map(({ name }) => name));
  const off = new Set(activeSuspensions(data).flatMap(({ kind, name }) => (kind === "provider" ? [name] : [])));
  return (name) => !off.has(name) && (known === undefined || known.has(name));
}

export const activeSuspensions = (data: Data): readonly SuspensionRecord[] =>
  rowsOf(data, "suspensions").filter(({ status }) => status === "active");

export const suspensionOf = (data: Data, kind: SuspensionKind, name: string): SuspensionRecord | undefined =>
  activeSuspensions(data).find((it) => it.kind === kind && it.name === name);
