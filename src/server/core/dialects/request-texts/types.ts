/** What a request says, and how what it says is changed. Source: design decisions, section 11. */

export type TextKind = "system" | "user" | "assistant" | "tool_args" | "tool_result";

/** One decoded text of a request. */
export interface MessageText {
  readonly kind: TextKind;
  readonly text: string;
  /** Index of its message from the end: 0 is the newest. What stands before all messages has their number. */
  readonly turn: number;
  /** It can be read, never rewritten: a provider takes only some characters there. */
  readonly isReadOnly: boolean;
}

export interface RequestTexts {
  readonly texts: readonly MessageText[];
  /** Ends and beginnings of texts that are put together on their way: to be inspected too. */
  readonly seams: readonly MessageText[];
  /** What cannot be read as text, one entry each: `image`, `audio`, `video`, `file`. */
  readonly uninspected: readonly string[];
  /**
   * Why texts may stand in the body that were not found; it quotes nothing of it. Then `texts` is empty, and who must have
   * the body inspected refuses it.
   */
  readonly problem: string | undefined;
  /**
   * The body with new texts in the place of these and of the seams, in their order; undefined: it stays. Every other byte is as it came,
   * and without a change it is the same buffer.
   */
  rewrite(changes: readonly (string | undefined)[]): Buffer;
}

/** A body, its content encoding taken off. */
export interface TextBody {
  readonly plain: Buffer;
  readonly contentType: string;
  /** `scanObject` found `plain` sound. */
  readonly isJson: boolean;
}

/** The body cannot be read. The message quotes nothing of it. */
export class Unreadable extends Error {}
