/** Guardrails for traffic that another proxy routes: the external processing service. It has nothing to route with. */

export type { Verdict, WholeRequest } from "./exchange/index.ts";
export { type InspectingWith, inspectRequest } from "./inspect.ts";
export type { Counted, Inspector, InspectorOptions } from "./options.ts";
export { openInspector } from "./server.ts";
