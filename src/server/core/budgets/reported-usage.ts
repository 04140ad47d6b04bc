/** Usage as the data plane reports it and the usage ledger stores it. */
import type { Usage } from "../dialects/index.ts";

/** Usage of one or more requests. Names are as configured or sent, with any length and characters. */
export interface Use {
  readonly hop: "llm" | "mcp" | "a2a";
  /** Caller; empty if none was recognized. */
  readonly caller: string;
  readonly profile: string;
  /** Name of the provider, server or agent. */
  readonly provider: string;
  readonly model: string;
  /** `media`: images, audio and video, which providers report in other counters than tokens. */
  readonly kind: "tokens" | "media";
  /** Number of requests: 1, or 0 for a part of a request. */
  readonly requests: number;
  readonly failed: number;
  /** Token counts, summed over the answers; `undefined` if no answer reported any. */
  readonly tokens: Omit<Usage, "totalTokens"> | undefined;
  /** Number of streams that ended before they had reported all usage. */
  readonly unmeasured: number;
  /** Number of answers that reported `tokens`; absent means one. */
  readonly answers?: number;
  /** Cost units that a budget was charged. */
  readonly units: number;
}
