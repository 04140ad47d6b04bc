/** Data plane of a node in separate processes. */
export { createFleet, type Elsewhere, type Fleet } from "./fleet.ts";
export { fleetOptions } from "./fleet-options.ts";
export { type CrossingInputs, crossing, recorded } from "./inputs.ts";
export { settling } from "./settling.ts";
export { neededMemory, workersIn } from "./worker-settings.ts";
export { workersOf } from "./workers-of.ts";
