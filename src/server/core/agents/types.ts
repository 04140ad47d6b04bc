/** Common types of messages of agent protocols. Source: design decisions, sections 7 and 11. */

/** One decoded text of a message, for guardrails. */
export interface AgentText {
  readonly kind: "user" | "tool_args" | "tool_result" | "output";
  readonly text: string;
  /** `name`, `uri`; empty where it is neither. */
  readonly ref: string;
  readonly turn: 0;
  /** Whether it can be read and refused, but never rewritten, because it is a name. */
  readonly isReadOnly: boolean;
  /** Whether the server or agent itself works on it: an argument of a tool, a part of a message. */
  readonly isArgument: boolean;
}

export type UninspectedMedia = "image" | "audio" | "video" | "file";

export interface AgentTexts {
  readonly texts: readonly AgentText[];
  /** Content that cannot be read as text, one entry each. */
  readonly uninspected: readonly UninspectedMedia[];
  /**
   * The message with new texts in the place of these, in their order; undefined: it stays. Every other character is as it
   * came, and without a change it is the same text.
   */
  readonly rewrite: (changes: readonly (string | undefined)[]) => string;
}

/** A JSON value. */
export type JsonValue =
  | string
  | number
  | boolean
  | null
  | readonly JsonValue[]
  | { readonly [name: string]: JsonValue };

/** A refusal as JSON-RPC has it. Source: JSON-RPC 2.0, section 5.1. */
export interface RpcFault {
  /** HTTP status. */
  readonly status: number;
  readonly code: number;
  /** Quotes nothing of the message. */
  readonly message: string;
  readonly data?: unknown;
  /** JSON text; `null` where the message has none, or none that can be read. */
  readonly id: string;
}
