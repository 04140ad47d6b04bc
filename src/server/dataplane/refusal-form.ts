/**
 * Forms in which the gateway writes its own answers to a client: refusals, and the last events of streams that it breaks off.
 * The form follows from the address of the request, so the stage that finds the address chooses it.
 */
import type { GatewayError } from "../../base/index.ts";
import { type AgentProtocol, rpcRefusal } from "../core/agents/index.ts";
import { type Dialect, refusalBody, refusalEvent, type StreamStamp } from "../core/dialects/index.ts";

export interface RefusalForm {
  /** Header pairs of refusals and documents. */
  readonly headers: readonly string[];
  body(error: GatewayError, requestId: string): string;
  /** Returns the last event of a stream. `stamp`: identifying members of the stream, which the event repeats. */
  event(error: GatewayError, requestId: string, stamp?: StreamStamp): string;
}

/** Formats the last frames of a failed stream. */
export type StreamFailure = (failure: Pick<GatewayError, "code" | "message">) => string;

const NO_HEADERS: readonly string[] = [];

class DialectForm implements RefusalForm {
  readonly headers: readonly string[];
  readonly #dialect: Dialect;
  readonly #failure: StreamFailure | undefined;

  constructor(dialect: Dialect, shared = NO_HEADERS, failure?: StreamFailure) {
    this.#dialect = dialect;
    this.headers = shared;
    this.#failure = failure;
  }

  body(error: GatewayError, requestId: string): string {
    return refusalBody(this.#dialect, error, requestId);
  }

  event(error: GatewayError, requestId: string, stamp?: StreamStamp): string {
    if (this.#failure !== undefined && stamp === undefined) return this.#failure(error);
    return refusalEvent(this.#dialect, error, requestId, stamp);
  }
}

/** The two forms of most requests. They are shared, so that a request allocates none. */
const PLAIN: Readonly<Record<Dialect, RefusalForm>> = {
  compat: new DialectForm("compat"),
  messages: new DialectForm("messages"),
};

/** Returns the form of a dialect. `headers`: header pairs of refusals and documents. */
export const dialectForm = (dialect: Dialect, headers?: readonly string[]): RefusalForm =>
  headers === undefined ? PLAIN[dialect] : new DialectForm(dialect, headers);

/** Returns the form of a stream of the Responses API, whose last frames continue those already sent. */
export const responsesForm = (dialect: Dialect, failure: StreamFailure): RefusalForm =>
  new DialectForm(dialect, NO_HEADERS, failure);

/** Returns the form of a call of an MCP server or agent: JSON-RPC errors. `id`: JSON text of the message's id. */
export function rpcForm(protocol: AgentProtocol, id = "null"): RefusalForm {
  const body = (error: GatewayError, requestId: string): string => rpcRefusal(protocol, error, id, requestId);
  return { headers: NO_HEADERS, body, event: (error, requestId) => `data: ${body(error, requestId)}\n\n` };
}
