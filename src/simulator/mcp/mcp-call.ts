/** Request to the simulated MCP server in progress. */

import type { IncomingHttpHeaders, ServerResponse } from "node:http";
import type { AgentDeviations } from "../agents/quirks.ts";
import type { McpState } from "./mcp-state.ts";

export interface McpCall {
  readonly headers: IncomingHttpHeaders;
  /** Text of the body; `undefined` if it is not text. */
  readonly text: string | undefined;
  readonly deviations: AgentDeviations;
  readonly state: McpState;
  readonly response: ServerResponse;
  readonly serial: number;
}

/** Returns an event of a stream. `text` is JSON. */
export function frameOf(text: string): string {
  return `event: message\ndata: ${text}\n\n`;
}
