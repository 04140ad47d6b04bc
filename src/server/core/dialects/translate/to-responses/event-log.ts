/**
 * Writes the events of a `responses` stream as text, numbered from 0 without gaps. Source: responses reference, 7 and 7.2.
 *
 * A stream has thousands of deltas, so events are assembled as text: `members` are JSON members, each followed by a comma.
 */
import { MAX_HELD } from "../chat-answers/block-queue.ts";
import { AnswerProblem } from "../types.ts";

/** Comment that keeps the connection alive. An event with an unknown name would break the official client. */
export const COMMENT = ": ping\n\n";

export class EventLog {
  readonly #keepsEvents: boolean;
  #frames = "";
  #next = 0;
  #heldSize = 0;

  /** Creates a log. `keepsEvents` is false if no events are needed but only the response itself. */
  constructor(isKept: boolean) {
    this.#keepsEvents = isKept;
  }

  /** Sequence number of the next event. */
  get sequence(): number {
    return this.#next;
  }

  write(type: string, members: string): void {
    const number = this.#next++;
    if (this.#keepsEvents) this.#frames += eventFrame(type, members, number);
  }

  writeComment(): void {
    if (this.#keepsEvents) this.#frames += COMMENT;
  }

  /** Returns the frames written since the last call. */
  takeFrames(): string {
    const frames = this.#frames;
    this.#frames = "";
    return frames;
  }

  /** Counts data that is kept until the end, if there is room for it. Its event and the last event repeat it. */
  reserve(size: number): boolean {
    if (this.#heldSize + size > MAX_HELD / 2) return false;
    this.#heldSize += size;
    return true;
  }

  /** Counts text that is kept until the end of the answer, since its last event repeats it. `size` is in UTF-16 units. */
  countHeld(size: number): void {
    this.#heldSize += size;
    if (this.#heldSize > MAX_HELD) throw new AnswerProblem("the answer is too long to be repeated in its last event");
  }
}

export function eventFrame(type: string, members: string, sequence: number): string {
  return `event: ${type}\ndata: {"type":"${type}",${members}"sequence_number":${sequence}}\n\n`;
}
