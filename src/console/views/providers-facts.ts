/** Joined data of a provider: its measurements, its suspension, and the models routed to it. */

import type { BackendRecord, ModelRecord } from "../../admin-api/index.ts";
import { servingNow } from "../actions/suspension-routes.ts";
import { shown } from "../format/labeled-lines.ts";
import { type Data, rowsOf } from "../model/data.ts";
import type { Span } from "../model/text.ts";
import { type MeasuredRow, measuredRows, STATES } from "./measured.ts";

export type ProviderRow = MeasuredRow<BackendRecord>;

export const providerNamed = (data: Data, name: string): ProviderRow | undefined =>
  measuredRows(data, "backends").find(({ record }) => record.name === name);

export interface ModelRoute {
  readonly model: ModelRecord;
  /** Providers in order, the addressed one first. */
  readonly providers: readonly string[];
  /** Provider that is currently tried first; `undefined` if none serves the model. */
  readonly first: string | undefined;
}

/** Returns names and patterns in matching order. */
export function modelRoutes(data: Data): readonly ModelRoute[] {
  const isServing = servingNow(data);
  return rowsOf(data, "models").map((model) => {
    const providers = [model.provider, ...model.failover];
    return { model, providers, first: providers.find(isServing) };
  });
}

/** Returns a provider's name, with its state if it is failing or unavailable. */
export function providerSpan(data: Data, name: string): Span {
  const row = providerNamed(data, name);
  if (row === undefined || row.state === "ok" || row.state === "idle") return shown(name);
  return shown(`${name} ${STATES[row.state].word}`, STATES[row.state].tone);
}

/** Joins spans with a separator. */
export function joinSpans(spans: readonly Span[], between = ", "): readonly Span[] {
  return spans.flatMap((span, at) => (at === 0 ? [span] : [{ text: between }, span]));
}
