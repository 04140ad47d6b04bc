/** JSON-RPC 2.0 as both agent protocols use it: errors, and the forms of results and errors. */

import type { Json, JsonObject } from "../json-fields.ts";
import { type Answer, type Frame, NO_TOKENS } from "../route-types.ts";

export type RpcId = string | number | null;

/** Error that is answered in one place (`serve-agents.ts`). The message is shown to the client. */
export class RpcError extends Error {
  override readonly name = "RpcError";
  readonly code: number;
  /** HTTP status of the answer. */
  readonly status: number;
  readonly data: Json | undefined;
  /** Headers as flat name and value pairs. */
  readonly headers: readonly string[];
  /** Id in the error; `undefined` for the id of the request. */
  readonly id: null | undefined;

  constructor(
    code: number,
    message: string,
    options: Partial<Pick<RpcError, "status" | "data" | "headers" | "id">> = {},
  ) {
    super(message);
    this.code = code;
    this.status = options.status ?? 200;
    this.data = options.data;
    this.headers = options.headers ?? [];
    this.id = options.id;
  }
}

export function resultText(id: RpcId, result: JsonObject): string {
  return JSON.stringify({ jsonrpc: "2.0", id, result });
}

export function errorAnswer(id: RpcId, { code, message, data, status, headers, id: none }: RpcError): Answer {
  const body = JSON.stringify({ jsonrpc: "2.0", id: none === null ? null : id, error: { code, message, data } });
  return { kind: "body", status, headers, contentType: "application/json", body, tokens: NO_TOKENS };
}

export function notificationText(method: string, params: JsonObject): string {
  return JSON.stringify({ jsonrpc: "2.0", method, params });
}

/** Returns a stream as the answer. `failure` is the JSON text that ends a stream that fails. */
export function streamAnswer(frames: Iterable<Frame> | AsyncIterable<Frame>, failure: string): Answer {
  return { kind: "events", frames, failure: () => failure, tokens: NO_TOKENS };
}
