/**
 * What spans tell of a model's answer: why it ended, and which model gave it where that is a name of the configuration. Read from the bytes
 * as they pass, by patterns that cannot stand in a text of JSON, whose quotes are escaped; nothing is kept but names of closed lists.
 * Only of requests that are traced.
 */
import { type Downstream, Passing } from "../../upstream/index.ts";

/** Of both dialects; any other is told as `other`. */
const REASONS: ReadonlySet<string> = new Set([
  ...["stop", "length", "content_filter", "tool_calls", "function_call"],
  ...["end_turn", "max_tokens", "stop_sequence", "tool_use", "pause_turn", "refusal", "model_context_window_exceeded"],
  // Of a response, what it ended as.
  ...["completed", "incomplete", "failed"],
]);

const REASON =
  /"(?:finish|stop)_reason"\s*:\s*"([a-z_]{1,40})"|"type"\s*:\s*"response\.(completed|incomplete|failed)"/g;
const MODEL = /"model"\s*:\s*"([^"\\]{1,200})"/;

/** Of what a pattern may be cut into by the end of a chunk. */
const OVERLAP_BYTES = 256;
/** Within which the model is named. */
const MODEL_WITHIN_BYTES = 4_096;
/** Answers of several choices end for several reasons. */
const MAX_REASONS = 8;

export class ToldAnswer extends Passing {
  /** Names of the configuration that the answer may be by. */
  readonly #named: readonly string[];
  readonly #reasons = new Set<string>();
  #model: string | undefined;
  #seenBytes = 0;
  #rest = "";

  constructor(to: Downstream, named: readonly string[]) {
    super(to);
    this.#named = named;
  }

  /** In order of their first. */
  get reasons(): readonly string[] {
    return [...this.#reasons];
  }

  /** Undefined: not told, or no name of the configuration. */
  get model(): string | undefined {
    return this.#model;
  }

  override write(chunk: Buffer): boolean {
    this.#read(chunk);
    return super.write(chunk);
  }

  #read(chunk: Buffer): void {
    const text = this.#rest + chunk.toString("latin1");
    this.#rest = text.slice(-OVERLAP_BYTES);
    if (this.#model === undefined && this.#seenBytes < MODEL_WITHIN_BYTES) {
      const model = MODEL.exec(text)?.[1];
      if (model !== undefined && this.#named.includes(model)) this.#model = model;
    }
    this.#seenBytes += chunk.length;
    if (!text.includes('_reason"') && !text.includes('"response.')) return;
    for (const [, reason, ended] of text.matchAll(REASON)) {
      const named = reason ?? ended ?? "";
      if (this.#reasons.size < MAX_REASONS) this.#reasons.add(REASONS.has(named) ? named : "other");
    }
  }
}
