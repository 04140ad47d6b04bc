export { startLivenessChecks } from "./liveness-checks.ts";
export { openSupervisor } from "./supervisor.ts";
export type { Beat, Handover, Supervisor, SupervisorOptions, Worker, WorkersStatus } from "./types.ts";
export { watchProgress } from "./watch-progress.ts";
