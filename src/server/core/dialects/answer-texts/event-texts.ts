/** Texts of the events of a streamed answer, as its reader returns them and its caller rewrites them. */

import type { SseEvent } from "../sse.ts";
import type { StreamStamp } from "../write-refusal.ts";
import type { Media } from "./answer-strings.ts";
import type { SimilarEvent } from "./event-template.ts";

/** Piece of a channel's text. A channel is one text of the answer, such as the content of a choice. */
export interface TextPiece {
  readonly channel: string;
  readonly text: string;
  /** Whether the text ends with this piece. */
  readonly isEnd: boolean;
}

export interface EventTexts {
  readonly event: SseEvent;
  /** Pieces in the order in which they appear. One channel may have several. */
  readonly pieces: readonly TextPiece[];
  /** Channels that end with this event without a piece in it. Their held-back text is sent before the event (`flush`). */
  readonly closedChannels: readonly string[];
  readonly uninspected: readonly Media[];
}

export interface StreamTexts {
  readonly read: (event: SseEvent) => EventTexts;
  /**
   * Returns the event's bytes with `shown` in the place of its pieces: the same buffer if nothing changes, `undefined` if
   * nothing is left to send. Must be called for each event that was read, in order.
   */
  readonly rewrite: (texts: EventTexts, shown: readonly string[]) => Buffer | undefined;
  /**
   * Reads the event that begins at an offset of the bytes if it differs from the last one in a single text. Only that text
   * needs inspection; it continues the channel `template.path`.
   */
  readonly readSimilar: (bytes: Buffer, at: number) => SimilarEvent | undefined;
  /** Rewrites an event that `readSimilar` returned, as `rewrite` does. */
  readonly rewriteSimilar: (event: SimilarEvent, shown: string) => Buffer | undefined;
  /**
   * Returns a frame with text that the channel held back, or `undefined` if nothing is to be shown. `isEnd` marks the last text
   * of the channel.
   */
  readonly flush: (channel: string, text: string, isEnd: boolean) => Buffer | undefined;
  /** Ends the stream. Returns all channels that are still open. */
  readonly end: () => readonly string[];
  /** Fields of the stream that a refusal has to repeat; `undefined` if nothing suitable was read. */
  readonly stamp: StreamStamp | undefined;
  /** Estimated memory of the kept texts, in bytes. */
  readonly heldBytes: number;
}
