export { openSupervisor } from "./supervisor.ts";
export { type Beat, CannotListen, type Supervisor, type SupervisorOptions, type Worker } from "./types.ts";
