/**
 * Fetches a provider's report of a window of days, completely or not at all: with a part of it, days would be judged by
 * missing data. Source: usage report APIs reference, 1 to 3 and 5.
 */
import type { GuardedAnswer, GuardedRequest } from "../../credentials/index.ts";
import type { ReconciledProvider } from "../../snapshot/index.ts";
import { DAY_MS, dayOf, daysIn, startOfDay, type Window } from "../judge/days.ts";
import { NOTHING_REPORTED, type ReportedUsage } from "../judge/judge-usage.ts";
import { COMPAT_ENDPOINTS } from "./compat-report.ts";
import { fetchPage, MAX_RETRIES, type PageFetch, ReportError } from "./fetch-page.ts";
import { MESSAGES_ENDPOINTS } from "./messages-report.ts";
import type { ReportEndpoint } from "./report-endpoint.ts";
import { addReports, type ReportResult, sumResults, type TokenCounts } from "./token-counts.ts";

/** Maximum number of days in one page; neither API allows more. */
const PAGE_DAYS = 31;
/** Maximum number of key ids in one query: every server accepts an address of a few kilobytes. */
const MAX_KEY_IDS = 100;
/** Maximum number of times that the pages are read from the first one, because a cursor expired. */
const MAX_WALKS = 3;
const MAX_CURSOR_LENGTH = 4_096;
const MAX_RESULTS_PER_DAY = 10_000;

export interface FetchPorts {
  send(asked: GuardedRequest): Promise<GuardedAnswer>;
  readonly now: () => number;
  readonly wait?: PageFetch["wait"];
}

export type FetchedReport =
  | {
      readonly kind: "reported";
      /** One entry per day of the window, except those in `unread`. */
      readonly days: ReadonlyMap<string, ReportedUsage>;
      /** Days with a result that has no known counter. */
      readonly unreadableDays: readonly string[];
    }
  /** `problem` contains no address and quotes nothing. */
  | { readonly kind: "failed"; readonly problem: string };

/** Fetches a report. Rejects only with the signal's reason. */
export async function fetchReport(
  audited: ReconciledProvider,
  window: Window,
  { send, now, wait }: FetchPorts,
  signal: AbortSignal,
): Promise<FetchedReport> {
  const context: PageFetch = { send, now, signal, retriesLeft: MAX_RETRIES, ...(wait !== undefined && { wait }) };
  const unread = new Set<string>();
  const days = new Map<string, ReportedUsage>(daysIn(window).map((day) => [day, NOTHING_REPORTED]));
  try {
    for (const endpoint of audited.type === "compat" ? COMPAT_ENDPOINTS : MESSAGES_ENDPOINTS) {
      for (const keyIds of keyIdGroups(audited.keyIds)) {
        for (const [day, counted] of await fetchEndpoint(audited, endpoint, keyIds, window, context)) {
          const before = days.get(day);
          if (counted === undefined) unread.add(day);
          else if (before !== undefined && counted.length > 0) days.set(day, addReports(before, sumResults(counted)));
        }
      }
    }
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof ReportError) return { kind: "failed", problem: error.message };
    throw error;
  }
  for (const day of unread) days.delete(day);
  return { kind: "reported", days, unreadableDays: [...unread].sort() };
}

function keyIdGroups(keyIds: readonly string[]): readonly (readonly string[])[] {
  if (keyIds.length === 0) return [[]];
  const count = Math.ceil(keyIds.length / MAX_KEY_IDS);
  return Array.from({ length: count }, (_, at) => keyIds.slice(at * MAX_KEY_IDS, (at + 1) * MAX_KEY_IDS));
}

/** Results by day; `undefined` if a result of the day cannot be read. */
type Days = ReadonlyMap<string, readonly TokenCounts[] | undefined>;

async function fetchEndpoint(
  audited: ReconciledProvider,
  endpoint: ReportEndpoint,
  keyIds: readonly string[],
  window: Window,
  context: PageFetch,
): Promise<Days> {
  for (let walk = 1; ; walk += 1) {
    try {
      return await walkPages(audited, endpoint, keyIds, window, context);
    } catch (error) {
      if (!(error instanceof ReportError)) throw error;
      if (error.status === 404 && endpoint.isOptional) return new Map();
      if (!(error instanceof CursorExpired) || walk >= MAX_WALKS) throw error;
    }
  }
}

/** Error for an expired cursor. Reading must start again with the first page. */
class CursorExpired extends ReportError {}

async function walkPages(
  audited: ReconciledProvider,
  endpoint: ReportEndpoint,
  keyIds: readonly string[],
  window: Window,
  context: PageFetch,
): Promise<Days> {
  const days = new Map<string, readonly TokenCounts[] | undefined>();
  const cursors = new Set<string>();
  const maxPages = daysIn(window).length + 2;
  const headers = { accept: "application/json", "user-agent": "gateway", ...endpoint.headers(audited) };
  let cursor: string | undefined;
  for (let page = 1; page <= maxPages; page += 1) {
    const url = urlOf(audited.baseUrl, endpoint, keyIds, window, cursor);
    const isFirst = cursor === undefined;
    const answer = await fetchPage(url, headers, context).catch((error: unknown) => {
      // Some providers report it as an invalid query.
      const isExpired = error instanceof ReportError && !isFirst && (error.status === 410 || error.status === 400);
      throw isExpired ? new CursorExpired(error.message, error.status) : error;
    });
    readBuckets(endpoint, answer["data"], window, days);
    if (answer["has_more"] !== true) return days;
    const next = answer["next_page"];
    if (typeof next !== "string" || next === "" || next.length > MAX_CURSOR_LENGTH) {
      throw new ReportError("the report has more pages but does not say where");
    }
    if (cursors.has(next)) throw new ReportError("the report's pages form a loop");
    cursors.add(next);
    cursor = next;
  }
  throw new ReportError(`the report has more than ${maxPages} pages for ${daysIn(window).length} days`);
}

function urlOf(
  baseUrl: string,
  { path, query }: ReportEndpoint,
  keyIds: readonly string[],
  window: Window,
  cursor: string | undefined,
): string {
  const search = new URLSearchParams([
    ...query(window).map(([name, value]): [string, string] => [name, value]),
    ["bucket_width", "1d"],
    ["limit", String(PAGE_DAYS)],
    ...keyIds.map((id): [string, string] => ["api_key_ids[]", id]),
    ...(cursor === undefined ? [] : [["page", cursor] as [string, string]]),
  ]);
  return `${baseUrl}${path}?${search}`;
}

function readBuckets(
  endpoint: ReportEndpoint,
  data: unknown,
  window: Window,
  days: Map<string, readonly TokenCounts[] | undefined>,
): void {
  if (!Array.isArray(data)) throw new ReportError("the report has no list `data`");
  for (const bucket of data as readonly unknown[]) {
    const from = isResult(bucket) ? endpoint.bucketStart(bucket) : undefined;
    const results = isResult(bucket) ? bucket["results"] : undefined;
    if (from === undefined || !Array.isArray(results) || results.length > MAX_RESULTS_PER_DAY) {
      throw new ReportError("the report has a bucket that cannot be read");
    }
    if (from + DAY_MS <= window.from || from >= window.to) continue;
    if (from !== startOfDay(from)) throw new ReportError("the report's buckets are not UTC days");
    const day = dayOf(from);
    if (days.has(day)) throw new ReportError(`the report has the day ${day} twice`);
    days.set(day, countResults(endpoint, results));
  }
}

function countResults(
  { countTokens }: ReportEndpoint,
  results: readonly unknown[],
): readonly TokenCounts[] | undefined {
  const counted: TokenCounts[] = [];
  for (const result of results) {
    const one = isResult(result) ? countTokens(result) : undefined;
    if (one === undefined) return undefined;
    if (one !== "left out") counted.push(one);
  }
  return counted;
}

const isResult = (value: unknown): value is ReportResult =>
  typeof value === "object" && value !== null && !Array.isArray(value);
