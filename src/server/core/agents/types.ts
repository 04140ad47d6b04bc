/** Types that the readers of both agent protocols share. Source: design decisions, sections 7 and 11. */

/** One decoded text of a message, for guardrails. */
export interface AgentText {
  readonly kind: "user" | "tool_args" | "tool_result" | "output";
  readonly text: string;
  /** Meaning of the text: `name`, `uri`, or empty for any other text. */
  readonly ref: string;
  readonly turn: 0;
  /** True if the text is a name: it can be inspected and refused, but not rewritten. */
  readonly isReadOnly: boolean;
  /** True if the server or agent processes the text itself: an argument of a tool, or a part of a message. */
  readonly isArgument: boolean;
}

export type UninspectedMedia = "image" | "audio" | "video" | "file";

export interface AgentTexts {
  readonly texts: readonly AgentText[];
  /** Content that cannot be read as text, one entry each. */
  readonly uninspected: readonly UninspectedMedia[];
  /**
   * Returns the message with `changes` in the place of its texts, in order; `undefined` keeps a text. All other characters
   * stay as received, and without changes the same text is returned.
   */
  readonly rewrite: (changes: readonly (string | undefined)[]) => string;
}

export type JsonValue =
  | string
  | number
  | boolean
  | null
  | readonly JsonValue[]
  | { readonly [name: string]: JsonValue };

/** Refusal as a JSON-RPC error. Source: JSON-RPC 2.0, section 5.1. */
export interface RpcFault {
  readonly status: number;
  readonly code: number;
  /** Error message. It never quotes the request. */
  readonly message: string;
  readonly data?: unknown;
  /** JSON text of the request's id; `null` if it is missing or unreadable. */
  readonly id: string;
}
