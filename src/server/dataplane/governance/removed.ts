/** Refuses requests on a node that its cluster has removed. Source: design decisions, section 20. */
import { GatewayError } from "../../../base/index.ts";

export const removedError = (): GatewayError =>
  new GatewayError(
    "removed",
    "This node was removed from its cluster and serves no requests. Send them to another node of the cluster.",
  );
