/** What the console knows of a provider, joined of the lists: its numbers, its suspension, and the models that go to it. */

import type { BackendRecord, ModelRecord, SuspensionRecord } from "../../admin-api/index.ts";
import { activeSuspensions, servingNow } from "../actions/suspension-routes.ts";
import { shown } from "../format/lines.ts";
import { wordTable } from "../format/words.ts";
import { type Data, rowsOf } from "../model/data.ts";
import type { Span, Tone } from "../model/text.ts";

export type State = BackendRecord["state"];

/** Worst first. */
export const STATES: Readonly<Record<State, { rank: number; mark: string; word: string; tone: Tone }>> = wordTable(
  {
    failing: { rank: 0, mark: "!", word: "FAILING", tone: "fail" },
    suspended: { rank: 1, mark: "~", word: "SUSPENDED", tone: "off" },
    ok: { rank: 2, mark: " ", word: "ok", tone: "plain" },
    idle: { rank: 3, mark: " ", word: "idle", tone: "dim" },
  },
  (word) => ({ rank: 1, mark: "~", word, tone: "off" }),
);

export interface ProviderRow {
  readonly backend: BackendRecord;
  /** As the suspensions say, which are told of sooner than the measurements. */
  readonly state: State;
  readonly suspension: SuspensionRecord | undefined;
}

export function providerRows(data: Data): readonly ProviderRow[] {
  const suspensions = new Map(
    activeSuspensions(data).flatMap((it) => (it.kind === "provider" ? [[it.name, it] as const] : [])),
  );
  return rowsOf(data, "backends").map((backend) => {
    const suspension = suspensions.get(backend.name);
    return { backend, suspension, state: suspension === undefined ? backend.state : "suspended" };
  });
}

export const providerNamed = (data: Data, name: string): ProviderRow | undefined =>
  providerRows(data).find(({ backend }) => backend.name === name);

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
