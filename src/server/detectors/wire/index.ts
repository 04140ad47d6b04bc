/** Calls to the servers of detectors. */

export { type Address, addressOf } from "./address.ts";
export { createEndpointMetrics } from "./endpoint-metrics.ts";
export { type Ask, createCallSlots, createEndpoints, type Endpoint, type Endpoints } from "./endpoints.ts";
export { headerPairs, headerProblems, shownHeaders } from "./headers.ts";
