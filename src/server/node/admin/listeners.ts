/** Listeners of a node, as shown to an operator. */
import type { NodeFile } from "../../core/config/index.ts";
import type { Inspector } from "../../inspector/index.ts";
import type { DataPlane } from "../start.ts";
import type { AdminListeners } from "./open-admin-plane.ts";

interface OpenListeners {
  readonly metrics: string | undefined;
  readonly dataPlane: DataPlane | undefined;
  readonly inspector: Inspector | undefined;
  readonly adminListeners: AdminListeners | undefined;
}

/** Returns the open listeners. */
export function listenersOf(
  nodeFile: NodeFile,
  { metrics, dataPlane, inspector, adminListeners }: OpenListeners,
): readonly { readonly name: string; readonly address: string }[] {
  const { raft_addr: raft, forward_addr: forward } = nodeFile.cluster;
  return [
    ...(dataPlane === undefined ? [] : [{ name: "data", address: dataPlane.address }]),
    ...(inspector === undefined ? [] : [{ name: "inspector", address: inspector.address }]),
    ...(metrics === undefined ? [] : [{ name: "metrics", address: metrics }]),
    ...(adminListeners?.socket === undefined ? [] : [{ name: "admin_socket", address: adminListeners.socket }]),
    ...(adminListeners?.listen === undefined ? [] : [{ name: "admin", address: adminListeners.listen }]),
    ...(raft ? [{ name: "raft", address: raft }] : []),
    ...(forward ? [{ name: "forward", address: forward }] : []),
  ];
}
