import type { Hop } from "../../core/policy/index.ts";

/** Description of a request in records. */
export interface DecidedRequest {
  readonly requestId: string;
  readonly hop: Hop;
  readonly route: string;
  /** Provider, MCP server or agent. */
  readonly to: string;
  /** Model as the client requested it; `undefined` without one. */
  readonly model: string | undefined;
  /** Tool, prompt or resource that the request names; `undefined` for traffic types without these. */
  readonly name?: string;
}
