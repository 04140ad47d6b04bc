/** Texts of a request, and how they are changed. Source: design decisions, section 11. */

export type TextKind = "system" | "user" | "assistant" | "tool_args" | "tool_result";

/** Decoded text of a request. */
export interface MessageText {
  readonly kind: TextKind;
  readonly text: string;
  /**
   * Index of the text's message from the end: 0 is the newest. A text before all messages has the number of messages as its
   * index.
   */
  readonly turn: number;
  /** Whether the text can be read but not rewritten, because providers accept only some characters there. */
  readonly isReadOnly: boolean;
}

export interface RequestTexts {
  readonly texts: readonly MessageText[];
  /** Ends and beginnings of texts that the provider joins; these must be inspected too. */
  readonly seams: readonly MessageText[];
  /** Content that cannot be read as text, one entry each: `image`, `audio`, `video`, `file`. */
  readonly uninspected: readonly string[];
  /**
   * Reason why the body may contain texts that were not found, without a quotation from it. In that case `texts` is empty, and
   * a body that must be inspected is refused.
   */
  readonly problem: string | undefined;
  /**
   * Returns the body with new texts in the place of these texts and of the seams, in their order; `undefined` keeps a text.
   * Every other byte is unchanged, and without a change the same buffer is returned.
   */
  rewrite(changes: readonly (string | undefined)[]): Buffer;
}

/** Body without its content encoding. */
export interface TextBody {
  readonly plain: Buffer;
  readonly contentType: string;
  /** Whether `scanObject` found `plain` valid. */
  readonly isJson: boolean;
}

/** Error for a body that cannot be read. The message never quotes the body. */
export class Unreadable extends Error {}
