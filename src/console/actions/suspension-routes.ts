/**
 * Where requests go once providers are suspended, by what the gateway lists: each name or pattern has a provider and the
 * list that is walked after it, in order and no further. Source: specification document 3 (`failover`).
 *
 * It is what the lists allow, not a promise: access rules and dialects may keep a request from a provider that stands in.
 * Names are as they were read: whoever draws them escapes them.
 */

import type { SuspensionKind, SuspensionRecord } from "../../admin-api/index.ts";
import { type Data, rowsOf } from "../model/data.ts";

export interface Rerouting {
  /** Rows of the models list that go to one of them first. */
  readonly routed: number;
  /** Who is asked first instead, in the order of those rows. */
  readonly takers: readonly string[];
  /** Names and patterns that somebody serves now and nobody would. */
  readonly bereft: readonly string[];
}

export function reroutingOf(data: Data, suspended: readonly string[]): Rerouting {
  const isServing = servingNow(data);
  const isServingThen = (name: string): boolean => isServing(name) && !suspended.includes(name);
  const models = rowsOf(data, "models");
  const routed = models.filter(({ provider }) => suspended.includes(provider));
  return {
    routed: routed.length,
    takers: [...new Set(routed.flatMap(({ failover }) => failover.find(isServingThen) ?? []))],
    bereft: models
      .map(({ model, provider, failover }) => ({ model, plan: [provider, ...failover] }))
      .filter(({ plan }) => plan.some(isServing) && !plan.some(isServingThen))
      .map(({ model }) => model),
  };
}

/** Of a provider: whether it is there and not suspended. One is taken to be there while the providers are not known. */
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
