/** Converts the answer to a `responses` request. Source: responses reference, 6 and 7. */
import { readChunks } from "../chat-answers/chunk-reader.ts";
import { readEvents } from "../messages-answers/event-reader.ts";
import type { ResponsesTerms } from "../responses-terms.ts";
import type { AnswerStamp, AnswerTranslation, StreamTranslation } from "../types.ts";
import { ChunksToResponse, writeCompletion } from "./from-chunks.ts";
import { EventsToResponse, writeMessage } from "./from-events.ts";
import type { Failure } from "./response-object.ts";
import { ResponseWriter } from "./response-writer.ts";

/** Returns the converter of the channel's answers. `from` is their form. */
export function responsesReading(from: "messages" | "chat", terms: ResponsesTerms): AnswerTranslation {
  return new ResponsesReading(from, terms);
}

/** Implemented as a class, since there is one instance for each request. */
class ResponsesReading implements AnswerTranslation {
  readonly #from: "messages" | "chat";
  readonly #terms: ResponsesTerms;

  constructor(from: "messages" | "chat", terms: ResponsesTerms) {
    this.#from = from;
    this.#terms = terms;
  }

  openStream(stamp: AnswerStamp): StreamTranslation | undefined {
    if (!this.#terms.wantsStream) return undefined;
    const writer = new ResponseWriter(this.#terms, stamp, true);
    const reader =
      this.#from === "messages"
        ? readEvents(new EventsToResponse(writer))
        : readChunks(new ChunksToResponse(writer, this.#terms.wantsLogprobs));
    return new ResponseStream(reader, writer);
  }

  translateWhole(body: string, stamp: AnswerStamp, asStream: boolean): string {
    const writer = new ResponseWriter(this.#terms, stamp, asStream);
    if (this.#from === "messages") writeMessage(body, writer);
    else writeCompletion(body, writer, this.#terms.wantsLogprobs);
    return asStream ? writer.takeFrames() : writer.responseText;
  }
}

class ResponseStream implements StreamTranslation {
  readonly #reader: StreamTranslation;
  readonly #writer: ResponseWriter;

  constructor(reader: StreamTranslation, writer: ResponseWriter) {
    this.#reader = reader;
    this.#writer = writer;
  }

  get state(): StreamTranslation["state"] {
    return this.#reader.state;
  }

  translateEvent(name: string, data: string): string {
    return this.#reader.translateEvent(name, data);
  }

  keepAlive(): string {
    return this.#reader.keepAlive();
  }

  end(): string {
    return this.#reader.end();
  }

  endWithFailure(failure: Failure): string {
    const { state } = this.#reader;
    return state === "open" || state === "ending" ? this.#writer.fail(failure, undefined) : "";
  }
}
