/**
 * Applies guardrails to traffic that another proxy routes: an ext_proc server. It cannot import anything that routes.
 *
 * - `answer/`: status, headers and body of a response that is changed
 * - `exchange/`: ext_proc as a pure state machine
 */

export type { Verdict } from "./exchange/index.ts";
export { filterSettings, settingsLine } from "./filter-settings.ts";
export type { InspectionOptions } from "./inspect.ts";
export { beginInspection } from "./inspection.ts";
export { openInspector } from "./inspector-server.ts";
export type { TraceExchange } from "./inspector-tracing.ts";
export { observeInspector } from "./metrics.ts";
export type { Inspector, InspectorEvent, InspectorOptions } from "./options.ts";
export { warnOfPeers } from "./peer-warnings.ts";
