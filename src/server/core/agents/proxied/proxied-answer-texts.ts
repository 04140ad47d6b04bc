import { a2aAnswerTexts } from "../a2a/index.ts";
import { mcpAnswerTexts } from "../mcp/index.ts";
import type { AgentTexts } from "../types.ts";
import type { ProxiedShape } from "./proxied-refusal.ts";

/**
 * Reads an answer: a whole body, one event of a stream, or all answers of a batch. Returns `undefined` if it is not JSON.
 * Throws `TooManyTexts`.
 */
export const proxiedAnswerTexts = ({ protocol }: ProxiedShape, message: string): AgentTexts | undefined =>
  protocol === "mcp" ? mcpAnswerTexts(message) : a2aAnswerTexts(message);
