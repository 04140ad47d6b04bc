/** Guardrails for traffic that another proxy routes: an ext_proc server. It cannot import anything that routes. */

export type { Verdict, WholeRequest } from "./exchange/index.ts";
export { type FilterSettings, filterSettings, settingsLine } from "./filter-settings.ts";
export type { InspectingWith } from "./inspect.ts";
export { beginInspecting } from "./inspection.ts";
export { observeInspector } from "./metrics.ts";
export type { Counted, Inspecting, Inspector, InspectorObserver, InspectorOptions } from "./options.ts";
export { warnOfPeers } from "./peer-warnings.ts";
export { openInspector } from "./server.ts";
export type { ExchangeSpan, StartedExchange, TraceExchange } from "./tracing.ts";
