/**
 * Alerts about traffic: failing providers, MCP servers and agents, models without a provider, budgets that run out, and
 * suspensions.
 */

import type { BudgetRecord, RefusalRecord, SuspensionRecord } from "../../admin-api/index.ts";
import { activeSuspensions, reroutingOf } from "../actions/suspension-routes.ts";
import { namesText } from "../format/name-list.ts";
import { count, percent, plural } from "../format/numbers.ts";
import { type Data, rowsOf } from "../model/data.ts";
import { sumOf } from "../model/nodes.ts";
import type { AttentionItem, AttentionSource } from "./attention-item.ts";
import { bucketId, isShared, isSpent, ownerOf, refusalCause, usedFraction } from "./budgets-bucket.ts";
import { callerFilter, providerFilter, requestsOfSubject } from "./keys-filters.ts";
import {
  jsonOfMeasured,
  KINDS,
  type Measured,
  type MeasuredRow,
  type MeasuredTable,
  measuredRows,
} from "./measured.ts";
import { differing } from "./measured-columns.ts";
import { modelRoutes } from "./providers-facts.ts";
import { suspensionId } from "./suspensions.ts";

export const FAILING_PROVIDERS: AttentionSource = {
  needs: [{ id: "list_backends" }, { id: "list_suspensions" }, { id: "list_models" }],
  items: ({ data }) =>
    measuredRows(data, "backends").flatMap((row) =>
      row.state === "failing"
        ? [failingItem("backends", "providers", row, "attempts", leaving(row.record.name, data))]
        : [],
    ),
};

/** Alerts about failing MCP servers and agents. Their calls have no failover. */
export const FAILING_CALLS: AttentionSource = {
  needs: [{ id: "list_mcp_servers" }, { id: "list_a2a_agents" }, { id: "list_suspensions" }],
  items: ({ data }) =>
    (
      [
        ["mcp_servers", "mcp"],
        ["a2a_agents", "a2a"],
      ] as const
    ).flatMap(([table, view]) =>
      measuredRows(data, table).flatMap((row) =>
        row.state === "failing" ? [failingItem(table, view, row, "calls", "")] : [],
      ),
    ),
};

/**
 * Builds the alert from the nodes on which the upstream fails, and names them unless they are all nodes. `after` is the text
 * after the rate.
 */
function failingItem<Row extends Measured>(
  table: MeasuredTable,
  view: string,
  met: MeasuredRow<Row>,
  what: string,
  after: string,
): AttentionItem {
  const { name } = met.record;
  const some = differing(met.parts);
  const those = some === undefined ? [met.record] : met.parts.filter(({ node }) => some.nodes.includes(node));
  const { error_ratio: ratio, rate, in_flight: inFlight, last_failure: cause } = sumOf(those);
  const causeText = cause === undefined ? "" : ` (${cause})`;
  const onlyOn = some === undefined ? "" : `only on ${namesText(some.nodes, FEW_NAMES)}: `;
  const failed = { kind: KINDS[table], name };
  return {
    id: suspensionId(failed),
    severity: "fail",
    weight: 0.5 + (ratio ?? 1) / 2,
    // Number of nodes on which it fails.
    degree: those.length,
    what: "FAIL",
    kind: failed.kind,
    name,
    text: `${onlyOn}${percent(ratio)} % of ${what} fail${causeText}, ${count(rate, 1)}/s${after}; ${count(inFlight)} in flight`,
    target: { place: { view }, row: name },
    suspends: failed,
    requests: providerFilter(name),
    json: jsonOfMeasured(met),
  };
}

/** Maximum number of failover names in the single line. */
const FEW_NAMES = 2;

function leaving(name: string, data: Data): string {
  if (data.get({ id: "list_models" })?.value === undefined) return "";
  const { routed, replacements } = reroutingOf(data, [name]);
  if (routed === 0) return "; no model is routed to it first";
  return replacements.length === 0
    ? "; no other provider takes over"
    : `; requests fail over to ${namesText(replacements, FEW_NAMES)}`;
}

/**
 * Alert about models without a provider. It is one row for all models, because a suspended provider can affect hundreds of names.
 */
export const UNSERVED_MODELS: AttentionSource = {
  needs: [{ id: "list_models" }, { id: "list_backends" }, { id: "list_suspensions" }],
  items({ data }) {
    const unserved = modelRoutes(data).flatMap(({ model, first }) => (first === undefined ? [model] : []));
    const [first] = unserved;
    if (first === undefined) return [];
    const item: AttentionItem = {
      id: "models:unserved",
      severity: "fail",
      weight: 1,
      degree: unserved.length,
      what: "NOBODY",
      kind: "model",
      name: unserved.length === 1 ? first.model : plural(unserved.length, "model"),
      text:
        unserved.length === 1
          ? "no provider serves it: all in its plan are suspended or missing"
          : `no provider serves ${namesText(unserved.map(({ model }) => model))}`,
      target: { place: { view: "models" }, row: first.model },
      json: unserved,
    };
    return [item];
  },
};

export const SPENT_BUDGETS: AttentionSource = {
  needs: [{ id: "list_budgets" }],
  items: ({ data }) =>
    rowsOf(data, "budgets").flatMap((row) => (row.status === "ok" ? [] : [budgetItem(row, rowsOf(data, "refusals"))])),
};

function budgetItem(row: BudgetRecord, refusals: readonly RefusalRecord[]): AttentionItem {
  const isRefusing = row.status === "refusing";
  const isBad = isRefusing || isSpent(row);
  const reason = refusalCause(row, refusals);
  // Shows 100 % only for a spent budget.
  const share = isSpent(row) ? "all" : `${Math.min(99, Math.floor(usedFraction(row) * 100))} %`;
  return {
    id: `budget:${bucketId(row)}`,
    severity: isBad ? "fail" : "warn",
    weight: isRefusing ? 0.4 : isBad ? 0.3 : Math.min(1, usedFraction(row)),
    degree: isRefusing ? 2 : 1,
    what: isRefusing ? "REFUSES" : isBad ? "SPENT" : "HOT",
    kind: "budget",
    name: isShared(row) ? row.budget : `${row.budget} ${ownerOf(row)}`,
    text: isRefusing
      ? `refused ${count(row.refused_per_minute)}/min${reason === "" ? "" : `: ${reason}`}, ${share} of ${count(row.limit)} units used`
      : `${share} of ${count(row.limit)} units`,
    ends: { label: "resets in", at: Date.parse(row.resets_at) },
    target: { place: { view: "budgets" }, row: bucketId(row) },
    ...(row.key !== null && { requests: callerFilter(row.key) }),
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
    since: Date.parse(row.created_at),
    severity: "warn",
    weight: 0,
    what: "SUSP",
    tone: "off",
    kind,
    name,
    text: `"${reason}" by ${by}${until === null ? ", until lifted" : ""}`,
    ...(until !== null && { ends: { label: "lifts in", at: Date.parse(until) } }),
    target: { place: { view: "suspensions" }, row: suspensionId(row) },
    lifts: { kind, name },
    ...withRequests(requestsOfSubject(row)),
    json: row,
  };
}

const withRequests = (requests: string | undefined) => requests !== undefined && { requests };
