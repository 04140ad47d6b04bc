/** Writes refusals of requests that another proxy routes, in the form that the protocol's clients read. */
import type { GatewayError } from "../../../../base/index.ts";
import { FAULT_STATUS } from "../a2a/a2a-faults.ts";
import { type AgentProtocol, ERROR_INFO, OWN_DOMAIN, rpcError, rpcRefusal } from "../rpc-refusal.ts";

export interface ProxiedShape {
  readonly protocol: AgentProtocol;
  readonly binding: "rpc" | "rest";
  /** JSON texts of the ids that expect an answer; empty if none are known. */
  readonly ids: readonly string[];
  readonly isBatch: boolean;
  /** JSON-RPC error code that replaces the gateway's own. */
  readonly code?: number;
}

/** Returns the JSON text of the answer's body. */
export function proxiedRefusal(shape: ProxiedShape, error: GatewayError, requestId: string): string {
  const { protocol, binding, ids, isBatch, code } = shape;
  if (binding === "rest") return restRefusal(error, requestId);
  const refusalOf = (id: string): string =>
    code === undefined
      ? rpcRefusal(protocol, error, id, requestId)
      : rpcError({ code, message: error.message, id, data: undefined });
  return isBatch && ids.length > 0 ? `[${ids.map(refusalOf).join(",")}]` : refusalOf(ids[0] ?? "null");
}

/** Returns the HTTP status of a refusal. Errors that A2A defines have the status of that protocol. */
export const proxiedStatus = ({ protocol, binding, code }: ProxiedShape, { status }: GatewayError): number =>
  protocol === "a2a" && binding === "rpc" && code !== undefined ? FAULT_STATUS : status;

/** Writes a refusal for the HTTP+JSON binding. Source: A2A specification, 11.6; Google AIP-193. */
function restRefusal({ code, message, status }: GatewayError, requestId: string): string {
  const info = {
    "@type": ERROR_INFO,
    reason: code.toUpperCase(),
    domain: OWN_DOMAIN,
    metadata: { code, request_id: requestId },
  };
  return JSON.stringify({ error: { code: status, status: grpcStatusOf(status).name, message, details: [info] } });
}

export interface GrpcStatus {
  readonly code: number;
  readonly name: string;
}

const OTHER: GrpcStatus = { code: 2, name: "UNKNOWN" };

/** gRPC status by HTTP status. Source: google.rpc.Code. */
const STATUSES: ReadonlyMap<number, GrpcStatus> = new Map([
  [400, { code: 3, name: "INVALID_ARGUMENT" }],
  [401, { code: 16, name: "UNAUTHENTICATED" }],
  [403, { code: 7, name: "PERMISSION_DENIED" }],
  [404, { code: 5, name: "NOT_FOUND" }],
  [413, { code: 8, name: "RESOURCE_EXHAUSTED" }],
  [429, { code: 8, name: "RESOURCE_EXHAUSTED" }],
  [500, { code: 13, name: "INTERNAL" }],
  [501, { code: 12, name: "UNIMPLEMENTED" }],
  [503, { code: 14, name: "UNAVAILABLE" }],
  [504, { code: 4, name: "DEADLINE_EXCEEDED" }],
]);

/** Returns the gRPC status for an HTTP status. */
export const grpcStatusOf = (status: number): GrpcStatus => STATUSES.get(status) ?? OTHER;
