/**
 * Data plane in separate processes: the protocol between a worker and its node process.
 *
 * - `acceptor/`: accepted connections, handed to worker processes
 * - `back/`: reports of a worker process to its node
 * - `channel/`: messages between the processes
 * - `intake/`: audit records of worker processes
 * - `supervisor/`: start, health and restart of worker processes
 */

export * from "./acceptor/index.ts";
export * from "./back/index.ts";
export { feedCertificates, followCertificates } from "./certificates.ts";
export * from "./channel/index.ts";
export * from "./intake/index.ts";
export { feedNodeState, followNodeState, type NodeStateSource } from "./node-state.ts";
export * from "./supervisor/index.ts";
export { feedRows, followRows, type RowsFeed } from "./worker-rows.ts";
