/**
 * Usage reports of an organization, as both providers document them: pages of UTC days.
 *
 * Source: the OpenAPI document of compat, operations `usage-completions` and `usage-embeddings`; the administration API
 * of messages, "Get Messages Usage Report".
 */

import { type Dialect, Refused } from "../dialect-errors.ts";
import type { Json, JsonObject } from "../json-fields.ts";
import { DAY_MS, type Kind, type UsageLedger } from "./report-ledger.ts";
import type { ReportSettings } from "./report-settings.ts";
import { sumsOfDay, type UsageQuery, type UsageSums } from "./sum-usage.ts";

export interface Report {
  readonly dialect: Dialect;
  readonly kind: Kind;
  readonly names: ReadonlySet<string>;
}

const SHARED_PARAMETERS = [
  "bucket_width",
  "limit",
  "page",
  "group_by",
  "group_by[]",
  "api_key_ids",
  "api_key_ids[]",
  "models",
  "models[]",
];
const COMPAT_PARAMETERS = [
  "start_time",
  "end_time",
  "project_ids",
  "project_ids[]",
  "user_ids",
  "user_ids[]",
  ...SHARED_PARAMETERS,
];
const MESSAGES_PARAMETERS = [
  "starting_at",
  "ending_at",
  "service_tiers[]",
  "workspace_ids[]",
  "context_window[]",
  ...SHARED_PARAMETERS,
];

const REPORTS: ReadonlyMap<string, Report> = new Map<string, Report>([
  [
    "/v1/organization/usage/completions",
    { dialect: "compat", kind: "completions", names: new Set([...COMPAT_PARAMETERS, "batch"]) },
  ],
  ["/v1/organization/usage/embeddings", { dialect: "compat", kind: "embeddings", names: new Set(COMPAT_PARAMETERS) }],
  [
    "/v1/organizations/usage_report/messages",
    { dialect: "messages", kind: "completions", names: new Set(MESSAGES_PARAMETERS) },
  ],
]);

export const reportAt = (path: string): Report | undefined => REPORTS.get(path);

const MAX_LIMIT = 31;
const DEFAULT_LIMIT = 7;

interface ReportPorts {
  readonly ledger: UsageLedger;
  readonly settings: ReportSettings;
  /** Time in milliseconds since 1970, by the simulator's clock. */
  readonly now: number;
  /** Key that the request presents. */
  readonly key: string | undefined;
}

/** Returns a report. Throws `Refused`. */
export function answerReport(report: Report, query: URLSearchParams, ports: ReportPorts): JsonObject {
  const { ledger, settings, now } = ports;
  checkAccess(ports);
  checkParameters(report, query);
  const limit = limitIn(query);
  const { from, to } = rangeOf(report.dialect, query, now);
  const first = from + cursorIn(query, settings) * DAY_MS;
  const end = Math.min(to, first + Math.min(limit, settings.pageDays) * DAY_MS);
  const usageQuery = parseQuery(report, query);
  const data: JsonObject[] = [];
  for (let at = first; at < end; at += DAY_MS) {
    const sums = sumsOfDay(ledger, settings, usageQuery, at, now);
    const results = sums.map((sum) => withoutCounters(resultOf(report, sum), settings.omittedCounters));
    data.push(bucketOf(report, at, results));
  }
  const hasMore = end < to;
  const nextDay = settings.repeatsFirstPage ? 0 : Math.round((end - from) / DAY_MS);
  const page = { data, has_more: hasMore, next_page: hasMore ? `page_${nextDay}` : null };
  return report.dialect === "compat" ? { object: "page", ...page } : page;
}

/** Throws the next error that the settings request, or the refusal of a key that is not an administrator's. */
function checkAccess({ settings, key }: ReportPorts): void {
  const error = settings.errors.shift();
  if (error !== undefined) throw new ReportRefused(error.status, error.retryAfterSeconds);
  if (key === undefined || (settings.adminKey !== undefined && key !== settings.adminKey)) {
    throw new Refused(401, "Reports are for an administrator's key.");
  }
}

function checkParameters({ names }: Report, query: URLSearchParams): void {
  const unknown = [...query.keys()].find((name) => !names.has(name));
  if (unknown !== undefined) throw new Refused(400, `There is no parameter '${unknown}'.`, unknown);
  if ((query.get("bucket_width") ?? "1d") !== "1d")
    throw new Refused(400, "Simulated reports have only buckets of 1d.");
}

function limitIn(query: URLSearchParams): number {
  const limit = Number(query.get("limit") ?? DEFAULT_LIMIT);
  if (Number.isInteger(limit) && limit >= 1 && limit <= MAX_LIMIT) return limit;
  throw new Refused(400, `limit must be 1 to ${MAX_LIMIT}.`, "limit");
}

/** Error that a setting of the reports causes. */
class ReportRefused extends Refused {
  override readonly retryAfterSeconds: number | undefined;
  constructor(status: number, retryAfterSeconds: number | undefined) {
    super(status, "A setting of the simulated reports requested this error.");
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

function rangeOf(
  dialect: Dialect,
  query: URLSearchParams,
  now: number,
): { readonly from: number; readonly to: number } {
  const [start, end] = dialect === "compat" ? ["start_time", "end_time"] : ["starting_at", "ending_at"];
  const at = (name: string): number | undefined => {
    const text = query.get(name);
    if (text === null) return undefined;
    const ms = dialect === "compat" ? (/^\d{1,11}$/.test(text) ? Number(text) * 1_000 : Number.NaN) : Date.parse(text);
    if (Number.isNaN(ms)) throw new Refused(400, `${name} must be a time.`, name);
    return ms;
  };
  const from = at(start as string);
  if (from === undefined) throw new Refused(400, `${start} is required.`, start as string);
  const startOfDay = (ms: number): number => Math.floor(ms / DAY_MS) * DAY_MS;
  const to = at(end as string) ?? now;
  // Buckets of messages end within the range; those of compat begin within it.
  return { from: startOfDay(from), to: dialect === "compat" ? Math.ceil(to / DAY_MS) * DAY_MS : startOfDay(to) };
}

function cursorIn(query: URLSearchParams, settings: ReportSettings): number {
  const page = query.get("page");
  if (page === null) return 0;
  if (settings.expired > 0) {
    settings.expired -= 1;
    throw new Refused(410, "The cursor has expired.");
  }
  const day = /^page_(\d{1,5})$/.exec(page)?.[1];
  if (day === undefined) throw new Refused(400, "The cursor is unknown.", "page");
  return Number(day);
}

function parseQuery({ dialect, kind }: Report, query: URLSearchParams): UsageQuery {
  const all = (name: string): readonly string[] => [...query.getAll(name), ...query.getAll(`${name}[]`)];
  const groups = all("group_by");
  return {
    dialect,
    kind,
    keyIds: all("api_key_ids"),
    models: all("models"),
    batch: dialect === "compat" ? batchIn(query) : batchInTiers(query.getAll("service_tiers[]")),
    groups: [
      ...(groups.includes("model") ? (["model"] as const) : []),
      ...(groups.includes("api_key_id") ? (["keyId"] as const) : []),
      ...(groups.includes("batch") || groups.includes("service_tier") ? (["isBatch"] as const) : []),
    ],
  };
}

function batchIn(query: URLSearchParams): boolean | undefined {
  const batch = query.get("batch");
  return batch === null ? undefined : batch === "true";
}

/** Returns whether only batches are requested, or only other requests; `undefined` for both. */
function batchInTiers(tiers: readonly string[]): boolean | undefined {
  if (tiers.length === 0) return undefined;
  if (!tiers.includes("batch")) return false;
  return tiers.length === 1 ? true : undefined;
}

function bucketOf({ dialect }: Report, at: number, results: readonly JsonObject[]): JsonObject {
  const text = (ms: number): string => `${new Date(ms).toISOString().slice(0, 19)}Z`;
  return dialect === "compat"
    ? { object: "bucket", start_time: at / 1_000, end_time: (at + DAY_MS) / 1_000, results }
    : { starting_at: text(at), ending_at: text(at + DAY_MS), results };
}

function resultOf({ dialect, kind }: Report, { counters, group, requests }: UsageSums): JsonObject {
  const { input, cached, written, output } = counters;
  const { model = null, keyId = null, isBatch } = group;
  if (dialect === "messages") {
    return {
      uncached_input_tokens: input,
      cache_creation: { ephemeral_5m_input_tokens: written, ephemeral_1h_input_tokens: 0 },
      cache_read_input_tokens: cached,
      output_tokens: output,
      server_tool_use: { web_search_requests: 0 },
      api_key_id: keyId,
      workspace_id: null,
      model,
      service_tier: isBatch === undefined ? null : isBatch ? "batch" : "standard",
      context_window: null,
      inference_geo: null,
      account_id: null,
      service_account_id: null,
    };
  }
  const commonFields = { project_id: null, user_id: null, api_key_id: keyId, model };
  const total = input + cached + written;
  if (kind === "embeddings") {
    return {
      object: "organization.usage.embeddings.result",
      input_tokens: total,
      num_model_requests: requests,
      ...commonFields,
    };
  }
  return {
    object: "organization.usage.completions.result",
    input_tokens: total,
    input_cached_tokens: cached,
    input_cache_write_tokens: written,
    input_uncached_tokens: input,
    output_tokens: output,
    input_text_tokens: input,
    input_cached_text_tokens: cached,
    output_text_tokens: output,
    input_audio_tokens: 0,
    input_cached_audio_tokens: 0,
    output_audio_tokens: 0,
    num_model_requests: requests,
    ...commonFields,
    batch: isBatch ?? null,
    service_tier: null,
  };
}

const withoutCounters = (result: JsonObject, names: ReadonlySet<string>): JsonObject =>
  Object.fromEntries(Object.entries(result).filter(([name]): boolean => !names.has(name))) as { [key: string]: Json };
