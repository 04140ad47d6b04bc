/** Settings of the reports that `POST /sim/reports` can change: late, wrong or refused reports, and missing counters. */

import type { Dialect } from "../dialect-errors.ts";
import { Refused } from "../dialect-errors.ts";
import { integerOf, type Json, type JsonObject, objectOf, objectsOf, stringOf } from "../json-fields.ts";
import { COUNTERS, type Counter } from "./report-ledger.ts";

interface Adjustment {
  readonly dialect: Dialect;
  /** Day of the adjustment, such as `2026-11-20`; `undefined` for every day. */
  readonly day: string | undefined;
  /** Adjusted counter; `undefined` for every counter. */
  readonly counter: Counter | undefined;
  readonly factor: number;
  readonly add: number;
}

export interface ReportSettings {
  /** Milliseconds by which the simulator's clock is ahead. */
  aheadMs: number;
  /** Number of hours before now that are not reported yet. */
  delayHours: number;
  /** Number of hours after midnight UTC at which the provider's days begin, although its buckets say midnight. */
  dayOffsetHours: number;
  adjustments: readonly Adjustment[];
  /** Counters that are left out, by their names in the report. */
  omittedCounters: ReadonlySet<string>;
  /** Errors that the next requests for pages get. */
  errors: { readonly status: number; readonly retryAfterSeconds: number | undefined }[];
  /** Maximum number of buckets in a page. */
  pageDays: number;
  /** Number of following cursors that will be unknown when they are used. */
  expired: number;
  /** True if cursors lead to the first page again. */
  repeatsFirstPage: boolean;
  /** Only credential that may read reports; `undefined` for any. */
  adminKey: string | undefined;
}

export const createReportSettings = (adminKey: string | undefined): ReportSettings => ({
  aheadMs: 0,
  delayHours: 0,
  dayOffsetHours: 0,
  adjustments: [],
  omittedCounters: new Set(),
  errors: [],
  pageDays: 31,
  expired: 0,
  repeatsFirstPage: false,
  adminKey,
});

export const REPORT_SETTINGS: readonly { readonly name: string; readonly effect: string }[] = [
  { name: "clock", effect: 'the simulator\'s time from now on ("2026-11-03T12:00:00Z")' },
  { name: "delay_hours", effect: "what was answered in the last hours is not reported yet" },
  { name: "edge_hours", effect: "number of hours after midnight UTC at which the provider's days begin" },
  {
    name: "adjust",
    effect: '[{"type": "compat", "day", "counter": "output", "factor": 0.97, "add": 0}]: loss, double, correction',
  },
  { name: "batches", effect: '[{"type": "compat", "day", "counter": "output", "tokens": 5000}]: used as batches' },
  { name: "lacking", effect: '["input_uncached_tokens"]: counters that reports leave out' },
  { name: "errors", effect: '[{"status": 429, "retry_after": 1}]: answers of the next pages' },
  { name: "page_days", effect: "most buckets in a page" },
  { name: "expired", effect: "number of cursors that have expired" },
  { name: "circle", effect: "cursors lead to the first page again" },
  { name: "admin_key", effect: "the only credential that may read reports" },
];

/** Changes the settings. Throws `Refused`. Members that are left out stay unchanged. */
export function changeReportSettings(settings: ReportSettings, requested: JsonObject, now: number): void {
  const unknown = Object.keys(requested).find((name) => !REPORT_SETTINGS.some((setting) => setting.name === name));
  if (unknown !== undefined) throw new Refused(400, `There is no setting '${unknown}'.`);
  const clock = stringOf(requested["clock"]);
  if (clock !== undefined) settings.aheadMs = instantOf(clock) - now;
  settings.delayHours = numberIn(requested["delay_hours"]) ?? settings.delayHours;
  settings.dayOffsetHours = numberIn(requested["edge_hours"]) ?? settings.dayOffsetHours;
  if (requested["adjust"] !== undefined) settings.adjustments = objectsOf(requested["adjust"]).map(adjustmentOf);
  if (Array.isArray(requested["lacking"]))
    settings.omittedCounters = new Set((requested["lacking"] as readonly Json[]).map(String));
  if (requested["errors"] !== undefined) {
    settings.errors = objectsOf(requested["errors"]).map((error) => ({
      status: integerOf(error["status"]) ?? 500,
      retryAfterSeconds: integerOf(error["retry_after"]),
    }));
  }
  settings.pageDays = Math.max(1, integerOf(requested["page_days"]) ?? settings.pageDays);
  settings.expired = integerOf(requested["expired"]) ?? settings.expired;
  settings.repeatsFirstPage =
    requested["circle"] === undefined ? settings.repeatsFirstPage : requested["circle"] === true;
  settings.adminKey = stringOf(requested["admin_key"]) ?? settings.adminKey;
}

interface Batch {
  readonly dialect: Dialect;
  readonly at: number;
  readonly counter: Counter;
  readonly tokens: number;
}

export const batchesOf = (requested: JsonObject): readonly Batch[] =>
  objectsOf(requested["batches"]).map((batch) => ({
    dialect: dialectOf(batch),
    at: instantOf(`${stringOf(batch["day"]) ?? ""}T12:00:00Z`),
    counter: counterOf(batch) ?? "output",
    tokens: integerOf(batch["tokens"]) ?? 0,
  }));

const adjustmentOf = (requested: JsonObject): Adjustment => ({
  dialect: dialectOf(requested),
  day: stringOf(requested["day"]),
  counter: counterOf(requested),
  factor: numberIn(requested["factor"]) ?? 1,
  add: integerOf(requested["add"]) ?? 0,
});

function dialectOf(requested: JsonObject): Dialect {
  const type = requested["type"];
  if (type === "compat" || type === "messages") return type;
  throw new Refused(400, "type must be compat or messages.", "type");
}

function counterOf(requested: JsonObject): Counter | undefined {
  const name = requested["counter"];
  if (name === undefined) return undefined;
  const counter = COUNTERS.find((one) => one === name);
  if (counter === undefined) throw new Refused(400, `counter must be one of ${COUNTERS.join(", ")}.`, "counter");
  return counter;
}

function instantOf(text: string): number {
  const at = Date.parse(text);
  if (Number.isNaN(at)) throw new Refused(400, "The time must be in RFC 3339 format.");
  return at;
}

const numberIn = (value: Json | undefined): number | undefined =>
  typeof value === "number" && Number.isFinite(value) ? value : undefined;

export const settingsBody = (value: Json): JsonObject => {
  const body = objectOf(value);
  if (body === undefined) throw new Refused(400, "The body is not a JSON object.");
  return body;
};
