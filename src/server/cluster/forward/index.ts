/** Requests between nodes, and from a command line to a node. */

export { createForwardClient } from "./forward-client.ts";
export { startForward } from "./forward-server.ts";
export type {
  ForwardAnswer,
  ForwardClient,
  ForwardOptions,
  ForwardReply,
  ForwardRequest,
  ForwardServer,
} from "./types.ts";
