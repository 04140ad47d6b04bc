/** Data plane of a node in separate processes. */

export { awaitWorkersOnWrite } from "./await-workers-on-write.ts";
export { createFleet, type Fleet, type OtherProcesses } from "./fleet.ts";
export { fleetOptions } from "./fleet-options.ts";
export { reachableMembers } from "./other-nodes.ts";
export { recordLookups, type TransferredInputs, toTransferredInputs } from "./transferred-inputs.ts";
export { programBytes, readWorkerCount, requiredMemoryBytes } from "./worker-settings.ts";
export { workersStatusOf } from "./workers-status.ts";
