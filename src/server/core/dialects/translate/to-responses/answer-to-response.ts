/** Converts the answer to a `responses` request. Source: responses reference, 6 and 7. */
import { readChunks } from "../chat-answers/chunk-reader.ts";
import { readEvents } from "../messages-answers/event-reader.ts";
import type { ResponsesTerms } from "../responses-terms.ts";
import type { AnswerReading, AnswerStamp, StreamTranslation } from "../types.ts";
import { ChunksToResponse, writeCompletion } from "./from-chunks.ts";
import { EventsToResponse, writeMessage } from "./from-events.ts";
import type { Failure } from "./response-object.ts";
import { ResponseWriter } from "./response-writer.ts";

/** Returns the converter of the channel's answers. `from` is their form. */
export function responsesReading(from: "messages" | "chat", terms: ResponsesTerms): AnswerReading {
  return new ResponsesReading(from, terms);
}

/** Implemented as a class, since there is one instance for each request. */
class ResponsesReading implements AnswerReading {
  readonly #from: "messages" | "chat";
  readonly #terms: ResponsesTerms;

  constructor(from: "messages" | "chat", terms: ResponsesTerms) {
    this.#from = from;
    this.#terms = terms;
  }

  stream(stamp: AnswerStamp): StreamTranslation | undefined {
    if (!this.#terms.streams) return undefined;
    const writer = new ResponseWriter(this.#terms, stamp, true);
    const reader =
      this.#from === "messages"
        ? readEvents(new EventsToResponse(writer))
        : readChunks(new ChunksToResponse(writer, this.#terms.wantsLogprobs));
    return new ResponseStream(reader, writer);
  }

  whole(body: string, stamp: AnswerStamp, asStream: boolean): string {
    const writer = new ResponseWriter(this.#terms, stamp, asStream);
    if (this.#from === "messages") writeMessage(body, writer);
    else writeCompletion(body, writer, this.#terms.wantsLogprobs);
    return asStream ? writer.take() : writer.whole;
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

  event(name: string, data: string): string {
    return this.#reader.event(name, data);
  }

  keepAlive(): string {
    return this.#reader.keepAlive();
  }

  end(): string {
    return this.#reader.end();
  }

  failure(failure: Failure): string {
    return this.#reader.state === "open" ? this.#writer.fail(failure, undefined) : "";
  }
}
