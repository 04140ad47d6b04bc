/** SQL over the lists of the admin API: one statement, in one read of one node. */

export { describeTables } from "./catalog.ts";
export { openQueryEngine } from "./open-engine.ts";
export type { QueryAnswer, QueryEngine, QueryEngineOptions, QueryRequest, QuerySource } from "./types.ts";
