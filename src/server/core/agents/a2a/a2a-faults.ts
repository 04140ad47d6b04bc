/** Errors that A2A itself defines, in the form that its clients expect. Source: a2a reference, 2, 3 and 6. */
import type { RpcFault } from "../types.ts";

/** HTTP status of JSON-RPC errors. The official Python client only reads the body of answers with this status. */
export const FAULT_STATUS = 200;

const FAULTS = {
  version: {
    status: FAULT_STATUS,
    code: -32009,
    message: "The requested A2A protocol version is not supported. Supported versions: 1.0",
    reason: "VERSION_NOT_SUPPORTED",
  },
  /** Error for a request that states no version. Some clients of version 1.0 leave the header out. */
  no_version: {
    status: FAULT_STATUS,
    code: -32009,
    message: "The request has no header A2A-Version, which means version 0.3. Supported versions: 1.0",
    reason: "VERSION_NOT_SUPPORTED",
  },
  push: {
    status: FAULT_STATUS,
    code: -32003,
    message: "Push Notification is not supported",
    reason: "PUSH_NOTIFICATION_NOT_SUPPORTED",
  },
  content_type: {
    status: 415,
    code: -32005,
    message: "The content type must be application/json",
    reason: "CONTENT_TYPE_NOT_SUPPORTED",
  },
  /** Error for an agent whose card declares no extended card. Source: A2A specification, 3.3.4. */
  no_extended_card: {
    status: FAULT_STATUS,
    code: -32004,
    message: "The agent has no extended card: its card declares none",
    reason: "UNSUPPORTED_OPERATION",
  },
} as const;

export type A2aFaultKind = keyof typeof FAULTS;

/** Returns an A2A error as a JSON-RPC fault. `id` is the JSON text of the request's id. */
export function a2aFault(kind: A2aFaultKind, id: string): RpcFault {
  const { status, code, message, reason } = FAULTS[kind];
  const info = { "@type": "type.googleapis.com/google.rpc.ErrorInfo", reason, domain: "a2a-protocol.org" };
  return { status, code, message, data: [info], id };
}
