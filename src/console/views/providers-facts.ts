/** What the console knows of a provider, joined of the lists: its numbers, its suspension, and the models that go to it. */

import type { BackendRecord, ModelRecord } from "../../admin-api/index.ts";
import { servingNow } from "../actions/suspension-routes.ts";
import { shown } from "../format/lines.ts";
import { type Data, rowsOf } from "../model/data.ts";
import type { Span } from "../model/text.ts";
import { type Met, metRows, STATES } from "./measured.ts";

export type ProviderRow = Met<BackendRecord>;

export const providerNamed = (data: Data, name: string): ProviderRow | undefined =>
  metRows(data, "backends").find(({ record }) => record.name === name);

export interface Serving {
  readonly model: ModelRecord;
  /** Its plan in order, the addressed provider first. */
  readonly plan: readonly string[];
  /** Who is asked first as things stand; undefined: nobody serves it. */
  readonly first: string | undefined;
}

/** Names and patterns in the order in which they match. */
export function servings(data: Data): readonly Serving[] {
  const isServing = servingNow(data);
  return rowsOf(data, "models").map((model) => {
    const plan = [model.provider, ...model.failover];
    return { model, plan, first: plan.find(isServing) };
  });
}

/** A provider's name, with its state where it cannot be used or fails. */
export function providerSpan(data: Data, name: string): Span {
  const row = providerNamed(data, name);
  if (row === undefined || row.state === "ok" || row.state === "idle") return shown(name);
  return shown(`${name} ${STATES[row.state].word}`, STATES[row.state].tone);
}

/** `first` and what goes between two. */
export function joined(spans: readonly Span[], between = ", "): readonly Span[] {
  return spans.flatMap((span, at) => (at === 0 ? [span] : [{ text: between }, span]));
}
