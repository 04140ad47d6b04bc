/**
 * Alerts about refused callers: keys, users or agents whose requests were refused in the last minute. Refusals because something
 * of the gateway failed are one alert for all callers, since they have one remedy.
 */

import type { RefusalRecord } from "../../admin-api/index.ts";
import { namesText } from "../format/name-list.ts";
import { count, plural } from "../format/numbers.ts";
import { type Data, rowsOf } from "../model/data.ts";
import type { AttentionItem, AttentionSource } from "./attention-item.ts";
import { requestsOfSubject } from "./keys-filters.ts";
import { callerText, causeText, refusalId } from "./refusals.ts";

/** Maximum number of separate rows; a refused client retries, and there may be hundreds. */
const MAX_CALLERS = 6;
/** Number of refusals per minute from which the alert is a warning: more than a person causes. */
const MANY = 10;

/** Rows of one caller, code and cause, over the nodes. The rows of a failure are those of all callers. */
type Refused = readonly [RefusalRecord, ...RefusalRecord[]];

/** Codes of requests that would have been served if nothing had failed. No rule, limit or operator decided against them. */
const FAILURE_CODES: ReadonlySet<string> = new Set([
  "guardrail_error",
  "policy_error",
  "credential_unavailable",
  "budget_unavailable",
  "audit_unavailable",
  "overloaded",
  "internal",
  "no_certificate",
  "no_public_url",
  "removed",
]);
/** Fault of a credential that could not be checked, because the issuer's keys could not be fetched. */
const ISSUER_UNREACHABLE = "issuer_unreachable";

const isFailure = ({ code, cause_name: name }: RefusalRecord): boolean =>
  FAILURE_CODES.has(code) || (code === "unauthenticated" && name === ISSUER_UNREACHABLE);

/** Returns the requests of the last minute that reached an upstream, over all nodes. */
const servedLastMinute = (data: Data): number =>
  60 *
  [...rowsOf(data, "backends"), ...rowsOf(data, "mcp_servers"), ...rowsOf(data, "a2a_agents")].reduce(
    (sum, { rate }) => sum + rate,
    0,
  );

export const REFUSED_CALLERS: AttentionSource = {
  needs: [
    { id: "list_refusals" },
    { id: "list_budgets" },
    { id: "list_backends" },
    { id: "list_mcp_servers" },
    { id: "list_a2a_agents" },
  ],
  items({ data }) {
    // Refusals by a budget are covered by the budget's alert if this node reports it as refusing.
    const shownBudgets = new Set(
      rowsOf(data, "budgets").flatMap(({ budget, status }) => (status === "refusing" ? [budget] : [])),
    );
    const groups = new Map<string, [RefusalRecord, ...RefusalRecord[]]>();
    for (const row of rowsOf(data, "refusals")) {
      if (row.last_minute === 0 || (row.cause === "budget" && shownBudgets.has(row.cause_name ?? ""))) continue;
      const caller = isFailure(row) ? [] : [row.caller_kind, row.caller];
      const key = JSON.stringify([...caller, row.code, row.cause, row.cause_name]);
      const group = groups.get(key);
      if (group === undefined) groups.set(key, [row]);
      else group.push(row);
    }
    const worst = [...groups.values()].sort((a, b) => refusalsLastMinute(b) - refusalsLastMinute(a));
    const failures = worst.filter(([row]) => isFailure(row));
    const decided = worst.filter(([row]) => !isFailure(row));
    const others = decided.slice(MAX_CALLERS);
    const served = servedLastMinute(data);
    return [
      ...failures.map((rows) => failureItem(rows, served)),
      ...decided.slice(0, MAX_CALLERS).map(refusedItem),
      ...(others.length === 0 ? [] : [othersItem(others)]),
    ];
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
  const by = causeText(row);
  // Only a note: scanners are normal, and a suspended caller is refused on purpose.
  const isMeant = kind === "unrecognised" || cause === "suspension";
  const isUnknown = caller === null || kind === "unrecognised";
  const requests = isUnknown ? row.last_request : requestsOfSubject({ kind, name: caller });
  return {
    id: ["refused", ...[kind, caller, code, cause, row.cause_name].map(inId)].join(":"),
    severity: minute >= MANY && !isMeant ? "warn" : "note",
    ...measuresOf(rows),
    kind: kind === "unrecognised" || kind === "others" ? "caller" : kind,
    name: isUnknown ? callerText(row) : caller,
    text: `${causeFirst(row)} refused ${count(minute)}/min${by === "" ? "" : ` with ${code}`}, ${count(hourOf(rows))} in the hour, on ${namesText(nodesOf(rows))}`,
    ...(requests !== undefined && { requests }),
  };
}

const hourOf = (rows: Refused): number => rows.reduce((sum, { last_hour: refused }) => sum + refused, 0);

const nodesOf = (rows: Refused): readonly string[] => [...new Set(rows.map(({ node }) => node))];

/** Returns the members that alerts about refusals have in common. */
function measuresOf(rows: Refused) {
  const minute = refusalsLastMinute(rows);
  return {
    weight: Math.min(0.9, minute / 1_000),
    // Order of magnitude, since the number fluctuates.
    degree: Math.floor(Math.log10(minute)),
    // A node drops the row after an hour without a refusal.
    since: Math.min(...rows.map(({ first_at: first }) => Date.parse(first))),
    what: "REFUSED",
    target: {
      place: { view: "refusals" },
      row: refusalId(rows.reduce((a, b) => (b.last_minute > a.last_minute ? b : a))),
    },
    json: rows,
  } as const;
}

/** Builds the alert of a failure. It is of severity `fail` if it refuses more requests than are served. */
function failureItem(rows: Refused, served: number): AttentionItem {
  const [row] = rows;
  const { code, cause, cause_name: name } = row;
  const minute = refusalsLastMinute(rows);
  const callers = new Set(rows.map(({ caller_kind: kind, caller }) => JSON.stringify([kind, caller]))).size;
  // Callers that are not known one by one cannot be counted.
  const isCounted = rows.every(({ caller_kind: kind }) => kind !== "unrecognised" && kind !== "others");
  const isMost = minute > served;
  const share = isMost ? ", more than are served" : "";
  const reason = [code, causeText(row)].filter((part) => part !== "").join(", ");
  return {
    id: ["failure", ...[code, cause, name].map(inId)].join(":"),
    severity: isMost ? "fail" : "warn",
    ...measuresOf(rows),
    kind: "failure",
    name: name ?? code,
    text: `a failure refuses ${count(minute)}/min${isCounted ? ` of ${plural(callers, "caller")}` : ""} (${reason})${share}; ${count(hourOf(rows))} in the hour, on ${namesText(nodesOf(rows))}`,
    requests: row.last_request,
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
