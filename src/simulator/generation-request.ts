/**
 * Generation request in a form common to all dialects, and the counter of prompt tokens.
 *
 * Readers of each dialect (`answer-chat.ts`, `answer-messages.ts`, `responses/`) create a `GenerationRequest`; `generate-reply.ts` answers it.
 */

import { createHash } from "node:crypto";
import { countWords } from "./answer-text.ts";
import type { Json, JsonObject } from "./json-fields.ts";

/** Number of tokens of an image, document or audio part; with real providers it depends on its size. */
const MEDIA_TOKENS = 85;

export interface GenerationRequest {
  readonly model: string;
  /** Text of the last user turn. */
  readonly question: string;
  /** Result of the client's tool, if the last turn is one. */
  readonly toolAnswer: string | undefined;
  /** Number of turns with tool results since the last user turn. */
  readonly toolRounds: number;
  /** Tools that may be called; empty if none is offered, or the choice is `none`. */
  readonly tools: readonly OfferedTool[];
  /** True if several tools may be called at once. */
  readonly allowsParallel: boolean;
  /** Schema that a structured answer must match. */
  readonly answerSchema: Json | undefined;
  readonly isThinking: boolean;
  readonly prompt: Prompt;
  readonly maxTokens: number | undefined;
  readonly stops: readonly string[];
  /** Returns a summary of the request, for a model that answers with it; see `comparable-summary.ts`. */
  readonly summarize?: () => JsonObject;
}

export interface OfferedTool {
  readonly name: string;
  readonly parameters: Json | undefined;
}

interface Prompt {
  readonly tokens: number;
  /** Number of tokens up to the last cache mark, and their digest; `undefined` without a mark. */
  readonly cachePrefix: { readonly tokens: number; readonly digest: string } | undefined;
}

export interface PromptCounter {
  text(text: string): void;
  media(): void;
  /** Marks everything counted so far to be cached. */
  mark(): void;
  done(): Prompt;
}

export function countPrompt(): PromptCounter {
  const texts: string[] = [];
  let tokens = 0;
  let markedTokens = 0;
  let markedTexts = 0;
  return {
    text(text) {
      texts.push(text);
      tokens += countWords(text);
    },
    media() {
      texts.push("\u0000");
      tokens += MEDIA_TOKENS;
    },
    mark() {
      markedTokens = tokens;
      markedTexts = texts.length;
    },
    done() {
      if (markedTexts === 0) return { tokens, cachePrefix: undefined };
      const hash = createHash("sha256");
      for (const text of texts.slice(0, markedTexts)) hash.update(`${text.length}:${text}`);
      return { tokens, cachePrefix: { tokens: markedTokens, digest: hash.digest("base64") } };
    },
  };
}
