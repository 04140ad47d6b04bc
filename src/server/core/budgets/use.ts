/** Usage as the data plane reports it and the usage ledger stores it. */
import type { Usage } from "../dialects/index.ts";

/** Names are as their owners wrote them: whatever they hold, and however long they are. */
export interface Use {
  readonly hop: "llm" | "mcp" | "a2a";
  /** Empty if no caller was recognized. */
  readonly caller: string;
  readonly profile: string;
  /** Provider, server or agent. */
  readonly provider: string;
  readonly model: string;
  /** `media`: images, sound and video, which providers report in other counters than tokens. */
  readonly kind: "tokens" | "media";
  /** 1, or 0 of a part of a request. */
  readonly requests: number;
  readonly failed: number;
  /** `undefined` if the answer reported none. For several uses reported as one, the sum. */
  readonly tokens: Omit<Usage, "totalTokens"> | undefined;
  /** Streams that ended before they had reported all usage. */
  readonly unmeasured: number;
  /** Number of answers that reported `tokens`; absent means one. */
  readonly answers?: number;
  /** Cost units that a budget was charged. */
  readonly units: number;
}
