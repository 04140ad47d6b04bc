/**
 * Translates a stream of the messages dialect for a compat client, from events to chunks. Source: dialects reference, 5.3 and
 * 9.1.
 */
import { readEvents } from "../messages-answers/event-reader.ts";
import type { AnswerStamp, AnswerTerms, StreamTranslation } from "../types.ts";
import { ChunkWriter } from "./chunk-writer.ts";

export function openChunkStream(terms: AnswerTerms, stamp: AnswerStamp): StreamTranslation {
  return readEvents(new ChunkWriter(terms, stamp));
}
