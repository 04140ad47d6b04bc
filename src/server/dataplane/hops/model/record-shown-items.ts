/**
 * Remembers the items of an answer as they were sent to the client. Guardrails may have changed or withheld some of the
 * provider's text, and the memory must not contain more than the client has seen.
 */
import { SseSplitter } from "../../../core/dialects/index.ts";
import { type Downstream, headerValue, PassThrough } from "../../../upstream/index.ts";
import type { ItemRecorder } from "./translate-answer.ts";

const ITEM_DONE = "response.output_item.done";

/** Returns a stage that forwards to `to` unchanged and remembers the items. */
export function recordShownItems(to: Downstream, { remember }: ItemRecorder): Downstream {
  return remember === undefined ? to : new RecordedAnswer(to, remember);
}

class RecordedAnswer extends PassThrough {
  readonly #remember: NonNullable<ItemRecorder["remember"]>;
  /** Splitter of the stream; `undefined` if the answer is not a stream. */
  #events: SseSplitter | undefined;
  #isAnswer = false;
  /** Chunks of an answer that is not a stream. */
  readonly #chunks: Buffer[] = [];

  constructor(to: Downstream, remember: NonNullable<ItemRecorder["remember"]>) {
    super(to);
    this.#remember = remember;
  }

  override start(status: number, statusText: string, headers: readonly string[]): void {
    this.#isAnswer = status < 300;
    const type = headerValue(headers, "content-type")?.toLowerCase();
    if (type?.startsWith("text/event-stream") === true) this.#events = new SseSplitter();
    super.start(status, statusText, headers);
  }

  override write(chunk: Buffer): boolean {
    if (this.#isAnswer) this.#read(chunk);
    return super.write(chunk);
  }

  override end(): void {
    const { output } = objectIn(Buffer.concat(this.#chunks).toString("utf8"));
    this.#chunks.length = 0;
    if (Array.isArray(output)) for (const item of output) this.#keep(item);
    super.end();
  }

  #read(chunk: Buffer): void {
    if (this.#events === undefined) {
      this.#chunks.push(chunk);
      return;
    }
    for (const { event, data } of this.#events.push(chunk)) {
      if (event === ITEM_DONE && data !== undefined) this.#keep(objectIn(data)["item"]);
    }
  }

  #keep(item: unknown): void {
    const id = typeof item === "object" && item !== null && "id" in item ? item.id : undefined;
    if (typeof id === "string") this.#remember(id, JSON.stringify(item));
  }
}

function objectIn(json: string): Readonly<Record<string, unknown>> {
  if (json === "") return {};
  try {
    const value: unknown = JSON.parse(json);
    return typeof value === "object" && value !== null ? (value as Readonly<Record<string, unknown>>) : {};
  } catch {
    return {}; // not JSON: a guardrail has replaced the answer by a text
  }
}
