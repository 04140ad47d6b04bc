/** Calls to the servers of detectors. */

export { type Address, addressOf } from "./address.ts";
export { createEndpointMetrics } from "./endpoint-metrics.ts";
export { type Ask, createEndpoints, type Endpoint, type Endpoints, MOST_IN_FLIGHT, MOST_WAITING } from "./endpoints.ts";
export { headerPairs, headerProblems, shownHeaders } from "./headers.ts";
export { mapWithLimit as inTurn } from "./map-with-limit.ts";
export { createSemaphore as createTurns } from "./semaphore.ts";
