/** Settings of the reports that `POST /sim/reports` can change: late, wrong or refused reports, and missing counters. */

import type { Dialect } from "../errors.ts";
import { Refused } from "../errors.ts";
import { integerOf, type Json, type JsonObject, objectOf, objectsOf, stringOf } from "../json.ts";
import { COUNTERS, type Counter } from "./book.ts";

interface Adjustment {
  readonly dialect: Dialect;
  /** Day of the adjustment, such as `2026-11-20`; `undefined` for every day. */
  readonly day: string | undefined;
  /** Adjusted counter; `undefined` for every counter. */
  readonly counter: Counter | undefined;
  readonly factor: number;
  readonly add: number;
}

export interface Knobs {
  /** Milliseconds by which the simulator's clock is ahead. */
  aheadMs: number;
  /** Number of hours before now that are not reported yet. */
  delayHours: number;
  /** Number of hours after midnight UTC at which the provider's days begin, although its buckets say midnight. */
  edgeHours: number;
  adjustments: readonly Adjustment[];
  /** Counters that are left out, by their names in the report. */
  lacking: ReadonlySet<string>;
  /** Errors that the next requests for pages get. */
  errors: { readonly status: number; readonly retryAfterSeconds: number | undefined }[];
  /** Maximum number of buckets in a page. */
  pageDays: number;
  /** Number of following cursors that will be unknown when they are used. */
  expired: number;
  /** True if cursors lead to the first page again. */
  isCircle: boolean;
  /** Only credential that may read reports; `undefined` for any. */
  adminKey: string | undefined;
}

export const createKnobs = (adminKey: string | undefined): Knobs => ({
  aheadMs: 0,
  delayHours: 0,
  edgeHours: 0,
  adjustments: [],
  lacking: new Set(),
  errors: [],
  pageDays: 31,
  expired: 0,
  isCircle: false,
  adminKey,
});

export const KNOBS: readonly { readonly name: string; readonly effect: string }[] = [
  { name: "clock", effect: 'the simulator\'s time from now on ("2026-11-03T12:00:00Z")' },
  { name: "delay_hours", effect: "what was answered in the last hours is not reported yet" },
  { name: "edge_hours", effect: "the provider's days begin so many hours after midnight UTC" },
  {
    name: "adjust",
    effect: '[{"type": "compat", "day", "counter": "output", "factor": 0.97, "add": 0}]: loss, double, correction',
  },
  { name: "batches", effect: '[{"type": "compat", "day", "counter": "output", "tokens": 5000}]: used as batches' },
  { name: "lacking", effect: '["input_uncached_tokens"]: counters that reports leave out' },
  { name: "errors", effect: '[{"status": 429, "retry_after": 1}]: answers of the next pages' },
  { name: "page_days", effect: "most buckets in a page" },
  { name: "expired", effect: "so many cursors are not known any more" },
  { name: "circle", effect: "cursors lead to the first page again" },
  { name: "admin_key", effect: "the only credential that may read reports" },
];

/** Changes the settings. Throws `Refused`. Members that are left out stay unchanged. */
export function setKnobs(knobs: Knobs, asked: JsonObject, now: number): void {
  const unknown = Object.keys(asked).find((name) => !KNOBS.some((knob) => knob.name === name));
  if (unknown !== undefined) throw new Refused(400, `There is no knob '${unknown}'.`);
  const clock = stringOf(asked["clock"]);
  if (clock !== undefined) knobs.aheadMs = instantOf(clock) - now;
  knobs.delayHours = numberIn(asked["delay_hours"]) ?? knobs.delayHours;
  knobs.edgeHours = numberIn(asked["edge_hours"]) ?? knobs.edgeHours;
  if (asked["adjust"] !== undefined) knobs.adjustments = objectsOf(asked["adjust"]).map(adjustmentOf);
  if (Array.isArray(asked["lacking"])) knobs.lacking = new Set((asked["lacking"] as readonly Json[]).map(String));
  if (asked["errors"] !== undefined) {
    knobs.errors = objectsOf(asked["errors"]).map((error) => ({
      status: integerOf(error["status"]) ?? 500,
      retryAfterSeconds: integerOf(error["retry_after"]),
    }));
  }
  knobs.pageDays = Math.max(1, integerOf(asked["page_days"]) ?? knobs.pageDays);
  knobs.expired = integerOf(asked["expired"]) ?? knobs.expired;
  knobs.isCircle = asked["circle"] === undefined ? knobs.isCircle : asked["circle"] === true;
  knobs.adminKey = stringOf(asked["admin_key"]) ?? knobs.adminKey;
}

interface Batch {
  readonly dialect: Dialect;
  readonly at: number;
  readonly counter: Counter;
  readonly tokens: number;
}

export const batchesOf = (asked: JsonObject): readonly Batch[] =>
  objectsOf(asked["batches"]).map((batch) => ({
    dialect: dialectOf(batch),
    at: instantOf(`${stringOf(batch["day"]) ?? ""}T12:00:00Z`),
    counter: counterOf(batch) ?? "output",
    tokens: integerOf(batch["tokens"]) ?? 0,
  }));

const adjustmentOf = (asked: JsonObject): Adjustment => ({
  dialect: dialectOf(asked),
  day: stringOf(asked["day"]),
  counter: counterOf(asked),
  factor: numberIn(asked["factor"]) ?? 1,
  add: integerOf(asked["add"]) ?? 0,
});

function dialectOf(asked: JsonObject): Dialect {
  const type = asked["type"];
  if (type === "compat" || type === "messages") return type;
  throw new Refused(400, "type must be compat or messages.", "type");
}

function counterOf(asked: JsonObject): Counter | undefined {
  const name = asked["counter"];
  if (name === undefined) return undefined;
  const counter = COUNTERS.find((one) => one === name);
  if (counter === undefined) throw new Refused(400, `counter must be one of ${COUNTERS.join(", ")}.`, "counter");
  return counter;
}

function instantOf(text: string): number {
  const at = Date.parse(text);
  if (Number.isNaN(at)) throw new Refused(400, "That is no time.");
  return at;
}

const numberIn = (value: Json | undefined): number | undefined =>
  typeof value === "number" && Number.isFinite(value) ? value : undefined;

export const knobsBody = (value: Json): JsonObject => {
  const body = objectOf(value);
  if (body === undefined) throw new Refused(400, "The body is not a JSON object.");
  return body;
};
