/** Folds a stream into a whole answer, for a client of the same dialect that did not request a stream. */
import { performance } from "node:perf_hooks";
import { GatewayError } from "../../../../base/index.ts";
import { AnswerProblem, type FoldedForm, foldAnswer, type Route } from "../../../core/dialects/index.ts";
import { BodyBuffer, type RequestMemory } from "../../../memory/index.ts";
import { type Downstream, headerValue, PassThrough } from "../../../upstream/index.ts";
import { lowerCase } from "../../headers.ts";

/** Maximum size of a folded stream. No real completion is larger. */
const MAX_STREAM_BYTES = 32 << 20;

/** Headers that describe the bytes of the stream, and not the whole answer. Source: RFC 9110; RFC 9530; RFC 3230. */
const STREAM_HEADERS: ReadonlySet<string> = new Set([
  ...["content-type", "content-length", "content-digest", "repr-digest", "digest", "content-md5", "etag"],
  "cache-control",
]);

const FORMS: ReadonlyMap<string, FoldedForm> = new Map([
  ["chat_completions", "chat"],
  ["completions", "chat"],
  ["messages", "messages"],
  ["responses", "responses"],
]);

/** Returns the form of whole answers on a route, or `undefined` if its streams are not folded. */
export const foldedForm = ({ name }: Pick<Route, "name">): FoldedForm | undefined => FORMS.get(name);

interface FoldingOptions {
  readonly form: FoldedForm;
  /** Memory account of the answer. */
  readonly answerMemory: RequestMemory;
  /** Receives the time of waiting for the rest of the answer, in milliseconds, which is not overhead of the gateway. */
  readonly addWaitMs: (ms: number) => void;
}

export const foldStream = (to: Downstream, options: FoldingOptions): Downstream => new FoldedAnswer(to, options);

interface Head {
  readonly statusText: string;
  readonly headers: readonly string[];
}

class FoldedAnswer extends PassThrough {
  readonly #options: FoldingOptions;
  /** Head of the answer; `undefined` if the answer is not a stream and passes unchanged. */
  #head: Head | undefined;
  #held: BodyBuffer | undefined;
  #begunAt = 0;
  #isOver = false;
  /** Ends the attempt at the provider as if the client had left. */
  #abortAttempt: (() => void) | undefined;

  constructor(to: Downstream, options: FoldingOptions) {
    super(to);
    this.#options = options;
  }

  override onGone(listener: (() => void) | undefined): void {
    this.#abortAttempt = listener;
    super.onGone(listener);
  }

  override start(status: number, statusText: string, headers: readonly string[]): void {
    if (status !== 200 || !isPlainStream(headers)) {
      super.start(status, statusText, headers);
      return;
    }
    this.#head = { statusText, headers };
    this.#held = new BodyBuffer(this.#options.answerMemory, MAX_STREAM_BYTES, true);
    this.#begunAt = performance.now();
  }

  override write(chunk: Buffer): boolean {
    const held = this.#held;
    if (held === undefined) return this.#isOver || super.write(chunk);
    try {
      if (held.bytes + chunk.length > MAX_STREAM_BYTES) throw new AnswerProblem("the provider's answer is too long");
      held.add(chunk);
    } catch (error) {
      this.#fail(error);
      this.#abortAttempt?.();
    }
    return true;
  }

  override end(): void {
    if (this.#isOver) return;
    const [head, held] = [this.#head, this.#held];
    if (head === undefined || held === undefined) {
      super.end();
      return;
    }
    const { form, answerMemory, addWaitMs } = this.#options;
    addWaitMs(performance.now() - this.#begunAt);
    this.#held = undefined;
    try {
      const whole = Buffer.from(foldAnswer(form, held.take().toString("utf8")));
      answerMemory.hold(whole.length);
      super.start(200, head.statusText, headersOf(head.headers, whole.length));
      super.write(whole);
      super.end();
    } catch (error) {
      this.#fail(error);
    }
  }

  override breakOff(cause: Error): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#held?.clear();
    this.#held = undefined;
    super.breakOff(cause);
  }

  #fail(error: unknown): void {
    if (!(error instanceof AnswerProblem || error instanceof GatewayError)) throw error;
    this.breakOff(error);
  }
}

function isPlainStream(headers: readonly string[]): boolean {
  const encoding = headerValue(headers, "content-encoding")?.toLowerCase() ?? "identity";
  const type = headerValue(headers, "content-type")?.toLowerCase() ?? "";
  return encoding === "identity" && type.startsWith("text/event-stream");
}

function headersOf(headers: readonly string[], length: number): string[] {
  const pairs: string[] = [];
  for (let at = 0; at < headers.length; at += 2) {
    const name = headers[at] as string;
    if (!STREAM_HEADERS.has(lowerCase(name))) pairs.push(name, headers[at + 1] as string);
  }
  pairs.push("content-type", "application/json", "content-length", String(length));
  return pairs;
}
