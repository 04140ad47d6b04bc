/** Requests between nodes, and from a command line to a node. */

export { createForwardClient } from "./client.ts";
export { startForward } from "./server.ts";
export type {
  ForwardAnswer,
  ForwardClient,
  ForwardOptions,
  ForwardReply,
  ForwardRequest,
  ForwardServer,
} from "./types.ts";
