/** Serves reports over HTTP, and bills usage to the organization. */

import { countRoute } from "../counts.ts";
import type { Dialect } from "../errors.ts";
import { type Exchange, writeWhole } from "../exchange.ts";
import { answerReport, type Report } from "./answer.ts";
import { keyIdOf, type UsageLedger } from "./book.ts";
import type { Knobs } from "./knobs.ts";

interface ReportState {
  readonly ledger: UsageLedger;
  readonly knobs: Knobs;
}

/** Serves a report. Throws `Refused`. */
export function serveReport(
  report: Report,
  exchange: Exchange,
  { ledger, knobs, key }: ReportState & { readonly key: string | undefined },
): void {
  exchange.dialect = report.dialect;
  countRoute(exchange.tally, "usage_report");
  const query = new URL(exchange.request.url ?? "/", "http://simulated").searchParams;
  const body = JSON.stringify(answerReport(report, query, { ledger, knobs, key, now: Date.now() + knobs.aheadMs }));
  writeWhole(exchange, { status: 200, contentType: "application/json" }, body);
}

interface Billed {
  readonly dialect: Dialect;
  readonly route: string;
  readonly model: string;
  readonly key: string | undefined;
}

/** Returns a function that bills a request; `undefined` for images and audio, which are not billed in tokens. */
export function billOf({ ledger, knobs }: ReportState, { dialect, route, model, key }: Billed): Exchange["bill"] {
  if (/^(?:images|audio|moderations|rerank)/.test(route)) return undefined;
  const kind = route === "embeddings" ? "embeddings" : "completions";
  return (tokens) =>
    ledger.note({ at: Date.now() + knobs.aheadMs, dialect, kind, model, keyId: keyIdOf(dialect, key), tokens });
}
