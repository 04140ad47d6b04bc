/**
 * Reads the finish reasons of a model's answer for its span, and the model that answered if the configuration names it. The
 * bytes are searched as they pass, with patterns that cannot match inside JSON strings, whose quotes are escaped. Only names
 * from closed lists are kept. Used only for traced requests.
 */
import { type Downstream, PassThrough } from "../../upstream/index.ts";

/** Finish reasons of both dialects; any other is reported as `other`. */
const REASONS: ReadonlySet<string> = new Set([
  ...["stop", "length", "content_filter", "tool_calls", "function_call"],
  ...["end_turn", "max_tokens", "stop_sequence", "tool_use", "pause_turn", "refusal", "model_context_window_exceeded"],
  // Final states of a response.
  ...["completed", "incomplete", "failed"],
]);

const REASON =
  /"(?:finish|stop)_reason"\s*:\s*"([a-z_]{1,40})"|"type"\s*:\s*"response\.(completed|incomplete|failed)"/g;
const MODEL = /"model"\s*:\s*"([^"\\]{1,200})"/;

/** Bytes kept from the previous chunk, because a match may span two chunks. */
const OVERLAP_BYTES = 256;
/** Bytes at the beginning of an answer that are searched for the model. */
const MODEL_WITHIN_BYTES = 4_096;
/** Maximum number of different reasons. An answer with several choices may have several. */
const MAX_REASONS = 8;

export class ReportedAnswerReader extends PassThrough {
  /** Names of models in the configuration. The name of the answering model is only kept if it is one of them. */
  readonly #configuredModels: readonly string[];
  readonly #reasons = new Set<string>();
  #model: string | undefined;
  #seenBytes = 0;
  #overlap = "";

  constructor(to: Downstream, named: readonly string[]) {
    super(to);
    this.#configuredModels = named;
  }

  /** Different finish reasons, in order of their first occurrence. */
  get reasons(): readonly string[] {
    return [...this.#reasons];
  }

  /** Model that answered; `undefined` if the answer did not name it or it is not in the configuration. */
  get model(): string | undefined {
    return this.#model;
  }

  override write(chunk: Buffer): boolean {
    this.#read(chunk);
    return super.write(chunk);
  }

  #read(chunk: Buffer): void {
    const text = this.#overlap + chunk.toString("latin1");
    this.#overlap = text.slice(-OVERLAP_BYTES);
    if (this.#model === undefined && this.#seenBytes < MODEL_WITHIN_BYTES) {
      const model = MODEL.exec(text)?.[1];
      if (model !== undefined && this.#configuredModels.includes(model)) this.#model = model;
    }
    this.#seenBytes += chunk.length;
    if (!text.includes('_reason"') && !text.includes('"response.')) return;
    for (const [, reason, ended] of text.matchAll(REASON)) {
      const named = reason ?? ended ?? "";
      if (this.#reasons.size < MAX_REASONS) this.#reasons.add(REASONS.has(named) ? named : "other");
    }
  }
}
