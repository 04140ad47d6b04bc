/** Attention for traffic: providers that fail, models that nobody serves, budgets that run out, and what is switched off. */

import type { BackendRecord, BudgetRecord, SuspensionRecord } from "../../admin-api/index.ts";
import { activeSuspensions, reroutingOf } from "../actions/suspension-routes.ts";
import { namesInWords } from "../format/names.ts";
import { count, percent, plural } from "../format/numbers.ts";
import { type Data, rowsOf } from "../model/data.ts";
import type { AttentionItem, AttentionSource } from "./attention-item.ts";
import { bucketId, isShared, isSpent, ownerOf, usedFraction } from "./budgets-bucket.ts";
import { providerRows, servings } from "./providers-facts.ts";
import { suspensionId } from "./suspensions.ts";

export const FAILING_PROVIDERS: AttentionSource = {
  needs: [{ id: "list_backends" }, { id: "list_suspensions" }, { id: "list_models" }],
  items: ({ data }) =>
    providerRows(data).flatMap(({ backend, state }) => (state === "failing" ? [failing(backend, data)] : [])),
};

function failing(backend: BackendRecord, data: Data): AttentionItem {
  const { name, error_ratio: ratio, rate, in_flight: inFlight } = backend;
  const provider = { kind: "provider", name } as const;
  const words = `${percent(ratio)} % of attempts fail, ${count(rate, 1)}/s${leaving(name, data)}; ${count(inFlight)} in flight`;
  return {
    id: suspensionId(provider),
    severity: "fail",
    weight: 0.5 + (ratio ?? 1) / 2,
    what: "FAIL",
    kind: "provider",
    name,
    says: words,
    goes: { place: { view: "providers" }, row: name },
    suspends: name,
    json: backend,
  };
}

/** Names that stand in, told in the one line there is. */
const FEW_NAMES = 2;

function leaving(name: string, data: Data): string {
  if (data.get({ id: "list_models" })?.value === undefined) return "";
  const { routed, takers } = reroutingOf(data, [name]);
  if (routed === 0) return "; no model goes to it first";
  return takers.length === 0 ? "; nobody stands in" : `; requests leave to ${namesInWords(takers, FEW_NAMES)}`;
}

/** In one row however many they are: a provider that is off takes hundreds of names along. */
export const UNSERVED_MODELS: AttentionSource = {
  needs: [{ id: "list_models" }, { id: "list_backends" }, { id: "list_suspensions" }],
  items({ data }) {
    const unserved = servings(data).flatMap(({ model, first }) => (first === undefined ? [model] : []));
    const [first] = unserved;
    if (first === undefined) return [];
    const item: AttentionItem = {
      id: "models:unserved",
      severity: "fail",
      weight: 1,
      what: "NOBODY",
      kind: "model",
      name: unserved.length === 1 ? first.model : plural(unserved.length, "model"),
      says:
        unserved.length === 1
          ? "no provider serves it: all of its plan is suspended or not there"
          : `no provider serves ${namesInWords(unserved.map(({ model }) => model))}`,
      goes: { place: { view: "models" }, row: first.model },
      json: unserved,
    };
    return [item];
  },
};

export const SPENT_BUDGETS: AttentionSource = {
  needs: [{ id: "list_budgets" }],
  items: ({ data }) => rowsOf(data, "budgets").flatMap((row) => (row.status === "ok" ? [] : [budgetItem(row)])),
};

function budgetItem(row: BudgetRecord): AttentionItem {
  const isRefusing = row.status === "refusing";
  const isBad = isRefusing || isSpent(row);
  // A hundred percent is said of what is spent, and of nothing before.
  const share = isSpent(row) ? "all" : `${Math.min(99, Math.floor(usedFraction(row) * 100))} %`;
  return {
    id: `budget:${bucketId(row)}`,
    severity: isBad ? "fail" : "warn",
    weight: isRefusing ? 0.4 : isBad ? 0.3 : Math.min(1, usedFraction(row)),
    what: isRefusing ? "REFUSES" : isBad ? "SPENT" : "HOT",
    kind: "budget",
    name: isShared(row) ? row.budget : `${row.budget} ${ownerOf(row)}`,
    says: `${share} of ${count(row.limit)} units${isRefusing ? `, ${count(row.refused_per_minute)} refused in a minute` : ""}`,
    ends: { words: "resets in", at: Date.parse(row.resets_at) },
    goes: { place: { view: "budgets" }, row: bucketId(row) },
    json: row,
  };
}

export const SUSPENSIONS: AttentionSource = {
  needs: [{ id: "list_suspensions" }],
  items: ({ data }) => activeSuspensions(data).map(suspensionItem),
};

function suspensionItem(row: SuspensionRecord): AttentionItem {
  const { kind, name, reason, by, until } = row;
  return {
    id: `suspension:${suspensionId(row)}`,
    severity: "warn",
    weight: 0,
    what: "SUSP",
    tone: "off",
    kind,
    name,
    says: `"${reason}" by ${by}${until === null ? ", until lifted" : ""}`,
    ...(until !== null && { ends: { words: "lifts in", at: Date.parse(until) } }),
    goes: { place: { view: "suspensions" }, row: suspensionId(row) },
    lifts: { kind, name },
    json: row,
  };
}
