/** Serves reports over HTTP, and bills usage to the organization. */

import type { Dialect } from "../dialect-errors.ts";
import { type Exchange, writeWhole } from "../http-exchange.ts";
import { countRoute } from "../request-counters.ts";
import { keyIdOf, type UsageLedger } from "./report-ledger.ts";
import type { ReportSettings } from "./report-settings.ts";
import { answerReport, type Report } from "./usage-report.ts";

interface ReportState {
  readonly ledger: UsageLedger;
  readonly reportSettings: ReportSettings;
}

/** Serves a report. Throws `Refused`. */
export function serveReport(
  report: Report,
  exchange: Exchange,
  { ledger, reportSettings, key }: ReportState & { readonly key: string | undefined },
): void {
  exchange.dialect = report.dialect;
  countRoute(exchange.tally, "usage_report");
  const query = new URL(exchange.request.url ?? "/", "http://simulated").searchParams;
  const body = JSON.stringify(
    answerReport(report, query, { ledger, settings: reportSettings, key, now: Date.now() + reportSettings.aheadMs }),
  );
  writeWhole(exchange, { status: 200, contentType: "application/json" }, body);
}

interface BilledRequest {
  readonly dialect: Dialect;
  readonly route: string;
  readonly model: string;
  readonly key: string | undefined;
}

/** Returns a function that bills a request; `undefined` for images and audio, which are not billed in tokens. */
export function billOf(
  { ledger, reportSettings }: ReportState,
  { dialect, route, model, key }: BilledRequest,
): Exchange["bill"] {
  if (/^(?:images|audio|moderations|rerank)/.test(route)) return undefined;
  const kind = route === "embeddings" ? "embeddings" : "completions";
  return (tokens) =>
    ledger.record({
      at: Date.now() + reportSettings.aheadMs,
      dialect,
      kind,
      model,
      keyId: keyIdOf(dialect, key),
      tokens,
    });
}
