/** Connections to the servers of detectors. */

export { headerPairs, headerProblems, shownHeaders } from "./detector-headers.ts";
export { type Address, addressOf } from "./endpoint-address.ts";
export { createEndpointMetrics } from "./endpoint-metrics.ts";
export { createCallSlots, createEndpoints, type Endpoint, type EndpointRequest, type Endpoints } from "./endpoints.ts";
