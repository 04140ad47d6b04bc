/** What was used, as the data plane tells it and the ledger of usage keeps it. */
import type { Usage } from "../dialects/index.ts";

/** Names are as their owners wrote them: whatever they hold, and however long they are. */
export interface Use {
  readonly hop: "llm" | "mcp" | "a2a";
  /** Empty: nobody was recognised. */
  readonly caller: string;
  readonly profile: string;
  /** Provider, server or agent. */
  readonly provider: string;
  readonly model: string;
  /** `media`: images, sound, video, which providers report by other counters than tokens. */
  readonly kind: "tokens" | "media";
  /** 1, or 0 of a part of a request. */
  readonly requests: number;
  readonly failed: number;
  /** Undefined: none was told. Of several uses that are told as one, the sum. */
  readonly tokens: Omit<Usage, "totalTokens"> | undefined;
  /** Streams that ended before they had told all that they used. */
  readonly unmeasured: number;
  /** Answers that told `tokens`; left out: one. */
  readonly answers?: number;
  /** Cost units that a budget was charged. */
  readonly units: number;
}
