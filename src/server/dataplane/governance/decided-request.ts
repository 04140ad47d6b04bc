import type { Hop } from "../../core/policy/index.ts";

/** What a record says of the request. */
export interface DecidedRequest {
  readonly requestId: string;
  readonly hop: Hop;
  readonly route: string;
  /** Provider, server or peer. */
  readonly to: string;
  /** As the client asked for it; undefined where there is none. */
  readonly model: string | undefined;
  /** Tool, prompt or resource that the request names; undefined at hops that have none. */
  readonly name?: string;
}
