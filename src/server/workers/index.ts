/** Data plane in separate processes: the protocol between a worker and its node process. */
export * from "./acceptor/index.ts";
export * from "./back/index.ts";
export { feedCertificates, followCertificates } from "./certificates.ts";
export * from "./channel/index.ts";
export * from "./intake/index.ts";
export { feedNodeState, followNodeState, type NodeState, type NodeStateSource } from "./node-state.ts";
export { feedRows, followRows, type RowsFeed } from "./rows.ts";
export * from "./supervisor/index.ts";
