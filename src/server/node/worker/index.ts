/** Data plane of a node in separate processes. */

export { awaitWorkersOnWrite } from "./await-workers-on-write.ts";
export { createFleet, type Fleet, type OtherProcesses } from "./fleet.ts";
export { fleetOptions } from "./fleet-options.ts";
export { recordLookups, type TransferredInputs, toTransferredInputs } from "./inputs.ts";
export { neededMemory, workersIn } from "./worker-settings.ts";
export { workersStatusOf } from "./workers-of.ts";
