/** Guardrails for traffic that another proxy routes: the external processing service. It has nothing to route with. */
export { openExchange } from "./exchange/index.ts";
