export { openLife } from "./life.ts";
export { openLooks } from "./looks.ts";
export { openSupervisor } from "./supervisor.ts";
export type { Beat, Handover, Standing, Supervisor, SupervisorOptions, Worker } from "./types.ts";
