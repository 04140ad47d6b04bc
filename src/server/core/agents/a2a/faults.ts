/** Errors of the protocol itself, in the shape that its clients understand. Source: a2a reference, 2, 3 and 6. */
import type { RpcFault } from "../types.ts";

const FAULTS = {
  version: {
    status: 400,
    code: -32009,
    message: "The requested A2A protocol version is not supported. Supported versions: 1.0",
    reason: "VERSION_NOT_SUPPORTED",
  },
  push: {
    status: 400,
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
  invalid_answer: {
    status: 502,
    code: -32006,
    message: "The agent's answer is none of A2A 1.0",
    reason: "INVALID_AGENT_RESPONSE",
  },
  no_extended_card: {
    status: 400,
    code: -32007,
    message: "The agent has no extended card",
    reason: "EXTENDED_AGENT_CARD_NOT_CONFIGURED",
  },
} as const;

export type A2aFaultKind = keyof typeof FAULTS;

/** `id`: JSON text. */
export function a2aFault(kind: A2aFaultKind, id: string): RpcFault {
  const { status, code, message, reason } = FAULTS[kind];
  const info = { "@type": "type.googleapis.com/google.rpc.ErrorInfo", reason, domain: "a2a-protocol.org" };
  return { status, code, message, data: [info], id };
}
