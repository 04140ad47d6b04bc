export { startLivenessChecks } from "./liveness-checks.ts";
export { openSupervisor } from "./supervisor.ts";
export type { Handover, Heartbeat, Supervisor, SupervisorOptions, Worker, WorkersStatus } from "./types.ts";
export { watchProgress } from "./watch-progress.ts";
