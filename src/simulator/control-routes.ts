/** Routes for tests: counts, the last requests, and settings of the reports. */

import { type Agents, createAgents } from "./agents/serve-agents.ts";
import { Refused } from "./dialect-errors.ts";
import { helpText } from "./help-page.ts";
import { type Exchange, writeWhole } from "./http-exchange.ts";
import { parseJson } from "./json-fields.ts";
import { changeTools } from "./mcp/mcp-state.ts";
import type { Memory } from "./provider-memory.ts";
import type { RecentRequests } from "./recent-requests.ts";
import type { UsageLedger } from "./reports/report-ledger.ts";
import {
  batchesOf,
  changeReportSettings,
  createReportSettings,
  type ReportSettings,
  settingsBody,
} from "./reports/report-settings.ts";
import { readTally, resetTally, type Tally } from "./request-counters.ts";
import type { StoredObjects } from "./stored/stored-objects.ts";

export interface Controlled {
  readonly tally: Tally;
  readonly memory: Memory;
  readonly stored: StoredObjects;
  readonly recentRequests: RecentRequests;
  readonly ledger: UsageLedger;
  readonly url: string;
  agents: Agents;
  reportSettings: ReportSettings;
}

export const isControl = (path: string): boolean => path === "/" || path.startsWith("/sim/");

type Route = (controlled: Controlled, url: string, bytes: Buffer) => string;

const ROUTES: ReadonlyMap<string, Route> = new Map<string, Route>([
  ["GET /", (controlled) => helpText(controlled.url)],
  ["GET /sim/counts", ({ tally }) => JSON.stringify(readTally(tally))],
  [
    "GET /sim/last",
    ({ recentRequests }, url) => {
      const requested = /[?&]n=(\d{1,3})(?:&|$)/.exec(url)?.[1];
      return recentRequests.read(requested === undefined ? undefined : Number(requested));
    },
  ],
  ["GET /sim/reports", ({ ledger }) => JSON.stringify({ lines: ledger.lines() })],
  [
    "POST /sim/reports",
    (controlled, _, bytes) => {
      postReportSettings(controlled, bytes);
      return "{}";
    },
  ],
  [
    "POST /sim/reset",
    (controlled) => {
      resetTally(controlled.tally);
      controlled.memory.clear();
      controlled.stored.clear();
      controlled.recentRequests.clear();
      controlled.ledger.clear();
      controlled.agents = createAgents();
      controlled.reportSettings = createReportSettings(controlled.reportSettings.adminKey);
      return "{}";
    },
  ],
  [
    "POST /sim/change",
    ({ agents }) => {
      changeTools(agents.mcp);
      return "{}";
    },
  ],
]);

/** Answers a control request. Throws `Refused`. */
export function answerControl(controlled: Controlled, exchange: Exchange, path: string, bytes: Buffer): void {
  const { method, url = "" } = exchange.request;
  const route = ROUTES.get(`${method} ${path}`);
  if (route === undefined) throw new Refused(404, `There are ${[...ROUTES.keys()].join(", ")}.`);
  const contentType = path === "/" ? "text/plain; charset=utf-8" : "application/json";
  writeWhole(exchange, { status: 200, contentType }, route(controlled, url, bytes));
}

function postReportSettings({ ledger, reportSettings }: Controlled, bytes: Buffer): void {
  const requested = settingsBody(jsonIn(bytes));
  const batches = batchesOf(requested);
  changeReportSettings(reportSettings, requested, Date.now());
  for (const { dialect, at, counter, tokens } of batches) {
    const counters = { input: 0, cached: 0, written: 0, output: 0, [counter]: tokens };
    ledger.add({ at, dialect, kind: "completions", model: "sim-batch", keyId: "key_batch", isBatch: true, counters });
  }
}

function jsonIn(bytes: Buffer): ReturnType<typeof parseJson> {
  try {
    return parseJson(bytes.toString());
  } catch {
    throw new Refused(400, "The body is not JSON.");
  }
}
