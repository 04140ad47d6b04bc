/** Connections to the servers of detectors. */

export { headerPairs, headerProblems, shownHeaders } from "./detector-headers.ts";
export { addressOf } from "./endpoint-address.ts";
export { createEndpointMetrics } from "./endpoint-metrics.ts";
export { createCallSlots, createEndpoints, type Endpoint, type Endpoints } from "./endpoints.ts";
