/** The ledger of usage as the data plane has it: it is told, and asked nothing. */
import type { Usage } from "../../core/dialects/index.ts";

export type Hop = "llm" | "mcp" | "a2a";

/** Names are as their owners wrote them; the model, at most 128 UTF-16 units of it. */
export interface Use {
  readonly hop: Hop;
  readonly caller: string;
  readonly profile: string;
  readonly provider: string;
  readonly model: string;
  readonly kind: "tokens" | "media";
  readonly requests: number;
  readonly failed: number;
  readonly tokens: Usage | undefined;
  /** Streams that ended before they had told all that they used. */
  readonly unmeasured: number;
  readonly units: number;
}

export interface UsageLedger {
  /** In memory; waits for nothing and never throws. */
  add(use: Use): void;
}
