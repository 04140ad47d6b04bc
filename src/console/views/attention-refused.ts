/** Alerts about refused callers: keys, users or agents whose requests were refused in the last minute. */

import type { RefusalRecord } from "../../admin-api/index.ts";
import { namesText } from "../format/name-list.ts";
import { count } from "../format/numbers.ts";
import { rowsOf } from "../model/data.ts";
import type { AttentionItem, AttentionSource } from "./attention-item.ts";
import { requestsOfSubject } from "./keys-filters.ts";
import { callerText, causeText, refusalId } from "./refusals.ts";

/** Maximum number of separate rows; a refused client retries, and there may be hundreds. */
const MAX_CALLERS = 6;
/** Number of refusals per minute from which the alert is a warning: more than a person causes. */
const MANY = 10;

/** Rows of one caller, code and cause, over the nodes. */
type Refused = readonly [RefusalRecord, ...RefusalRecord[]];

export const REFUSED_CALLERS: AttentionSource = {
  needs: [{ id: "list_refusals" }, { id: "list_budgets" }],
  items({ data }) {
    // Refusals by a budget are covered by the budget's alert if this node reports it as refusing.
    const shownBudgets = new Set(
      rowsOf(data, "budgets").flatMap(({ budget, status }) => (status === "refusing" ? [budget] : [])),
    );
    const groups = new Map<string, [RefusalRecord, ...RefusalRecord[]]>();
    for (const row of rowsOf(data, "refusals")) {
      if (row.last_minute === 0 || (row.cause === "budget" && shownBudgets.has(row.cause_name ?? ""))) continue;
      const key = JSON.stringify([row.caller_kind, row.caller, row.code, row.cause, row.cause_name]);
      const group = groups.get(key);
      if (group === undefined) groups.set(key, [row]);
      else group.push(row);
    }
    const worst = [...groups.values()].sort((a, b) => refusalsLastMinute(b) - refusalsLastMinute(a));
    const others = worst.slice(MAX_CALLERS);
    return [...worst.slice(0, MAX_CALLERS).map(refusedItem), ...(others.length === 0 ? [] : [othersItem(others)])];
  },
};

/**
 * Returns a part of an alert's id that a shell takes without quotes, since `gateway ack` is given the id. Different parts stay
 * different: every other character is percent-encoded, the colon between parts included. `null` is empty.
 */
function inId(part: string | null): string {
  return (part ?? "").replace(/[^\p{L}\p{N}._@/+-]/gu, (character) =>
    [...Buffer.from(character)].map((byte) => `%${byte.toString(16).padStart(2, "0")}`).join(""),
  );
}

const refusalsLastMinute = (rows: readonly RefusalRecord[]): number =>
  rows.reduce((sum, row) => sum + row.last_minute, 0);

function refusedItem(rows: Refused): AttentionItem {
  const [row] = rows;
  const { caller_kind: kind, caller, code, cause } = row;
  const minute = refusalsLastMinute(rows);
  const hour = rows.reduce((sum, { last_hour: refused }) => sum + refused, 0);
  const by = causeText(row);
  // Only a note: scanners are normal, and a suspended caller is refused on purpose.
  const isMeant = kind === "unrecognised" || cause === "suspension";
  const isUnknown = caller === null || kind === "unrecognised";
  const requests = isUnknown ? row.last_request : requestsOfSubject({ kind, name: caller });
  return {
    id: ["refused", ...[kind, caller, code, cause, row.cause_name].map(inId)].join(":"),
    severity: minute >= MANY && !isMeant ? "warn" : "note",
    weight: Math.min(0.9, minute / 1_000),
    // Order of magnitude, since the number fluctuates.
    degree: Math.floor(Math.log10(minute)),
    // A node drops the row after an hour without a refusal.
    since: Math.min(...rows.map(({ first_at: first }) => Date.parse(first))),
    what: "REFUSED",
    kind: kind === "unrecognised" || kind === "others" ? "caller" : kind,
    name: isUnknown ? callerText(row) : caller,
    text: `${causeFirst(row)} refused ${count(minute)}/min${by === "" ? "" : ` with ${code}`}, ${count(hour)} in the hour, on ${namesText(rows.map(({ node }) => node))}`,
    target: {
      place: { view: "refusals" },
      row: refusalId(rows.reduce((a, b) => (b.last_minute > a.last_minute ? b : a))),
    },
    ...(requests !== undefined && { requests }),
    json: rows,
  };
}

/** Returns the cause: `no-cards`, `budget day`, `unknown_key`; otherwise the code. */
function causeFirst(row: RefusalRecord): string {
  const { cause, cause_name: name, code } = row;
  if (cause === "rule" || cause === "credential") return name ?? code;
  return causeText(row) || code;
}

function othersItem(groups: readonly Refused[]): AttentionItem {
  return {
    id: "refused:others",
    severity: "note",
    weight: 0,
    degree: groups.length,
    what: "REFUSED",
    kind: "caller",
    name: `${groups.length} more`,
    text: `refused ${count(refusalsLastMinute(groups.flat()))}/min together; :refusals lists them`,
    target: { place: { view: "refusals" } },
    json: groups,
  };
}
