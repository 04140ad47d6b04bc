/**
 * Types of the translation: what a translator gets about the channel and the request, and what it returns.
 *
 * Everything here is pure: ids and times are passed in. No error contains text of a prompt or an answer.
 */
import type { Capability } from "../fidelity/capabilities.ts";
import type { Loss } from "../fidelity/losses.ts";
import type { Dialect } from "../routes/routes.ts";

/** Properties of the channel that the request goes to. */
export interface ChannelTerms {
  /**
   * Returns whether the channel claims the capability. A channel without a list claims everything that its dialect can express.
   */
  readonly claims: (capability: Capability) => boolean;
  /** Field that identifies the end user to a compat provider. */
  readonly endUserField: "user" | "safety_identifier";
  /** Whether a compat provider refuses calls in the history that do not have its signature. */
  readonly signsCalls?: boolean | undefined;
  /** Whether a streamed request to a compat provider may ask for usage. */
  readonly acceptsStreamUsage: boolean;
  /** Seal of reasoning; set only for `responses` requests. */
  readonly seal?: ReasoningSeal | undefined;
}

/**
 * Sealed block of thinking, which has to be sent back to its provider unchanged. `t`: thinking and its signature; `r`:
 * redacted; `c`: unsigned reasoning; `d`: details in place of reasoning.
 */
export type SealedBlock =
  | { readonly k: "t"; readonly x: string; readonly s: string }
  | { readonly k: "r"; readonly x: string }
  | { readonly k: "c"; readonly x: string }
  | { readonly k: "d"; readonly j: unknown };

/** Encryption of reasoning, bound to the caller, to the form and provider of the channel, and to the model as it is sent. */
export interface ReasoningSeal {
  seal(blocks: readonly SealedBlock[]): string;
  /**
   * Returns the blocks, or `undefined` if the gateway did not seal them, they were changed, or they belong to another caller,
   * provider or model.
   */
  open(sealed: string): readonly SealedBlock[] | undefined;
}

export interface TranslatedRequest {
  /** Body of the request, as JSON text. */
  readonly body: string;
  readonly answer: AnswerTerms;
  /** Losses that were found only during translation; all soft. */
  readonly lost?: readonly Loss[] | undefined;
}

/** Request in the form for its channel, and the conversion of its answer for the client. */
export interface RequestTranslation {
  /** Body of the request, as JSON text. */
  readonly body: string;
  readonly reading: AnswerTranslation;
  /** Losses that were found only during translation; all soft. */
  readonly lost?: readonly Loss[] | undefined;
}

/** Conversion of the answer to a translated request. `stamp` is created when the answer begins. */
export interface AnswerTranslation {
  /** Opens the translation of a stream; `undefined` if no stream was requested. */
  openStream(stamp: AnswerStamp): StreamTranslation | undefined;
  /** Converts a whole answer, to a stream if `asStream` is true. Throws `AnswerProblem`. */
  translateWhole(body: string, stamp: AnswerStamp, asStream: boolean): string;
}

/** Error for a request that violates its dialect in a part that translation has to read. */
export class RequestProblem extends Error {
  override readonly name = "RequestProblem";
  /** Path of the field, like `messages[2].content`; never quotes the request. */
  readonly param: string;

  constructor(param: string, message: string) {
    super(message);
    this.param = param;
  }
}

/** Data about a request that is needed to read its answer. */
export interface AnswerTerms {
  /** Dialect of the client, in which the answer is written. */
  readonly client: Dialect;
  /** Whether the client asked for a stream. */
  readonly streams: boolean;
  /**
   * Model names: `sent` to the provider, and `requested` by the client. In the answer the client sees `requested` in place of
   * `sent`.
   */
  readonly model: { readonly sent: string; readonly requested: string };
  /** Client's names of tools, by the names that were sent to the provider, if they differ. */
  readonly toolNames: ReadonlyMap<string, string>;
  /** Whether a stream to a compat client ends with a chunk that has the usage. */
  readonly showsUsage: boolean;
  /** Whether a compat client uses `functions`, and reads `function_call`. */
  readonly callsFunctions: boolean;
  /** Whether a messages client asked for thinking, and so is shown the provider's reasoning. */
  readonly showsThinking: boolean;
  /**
   * Returns an estimate of the prompt's tokens, for the start of a stream to a messages client, where some libraries read it.
   * It is for display only; the end of the stream has the provider's count.
   */
  readonly inputEstimate: () => number;
}

/** Values that the answer needs and a translator cannot create itself. */
export interface AnswerStamp {
  /** Time at which the answer began, in seconds since 1970. */
  readonly created: number;
  /** Returns the current time in the same unit; without it, an answer counts as complete in the second in which it began. */
  readonly now?: () => number;
  /** Unique text of `[A-Za-z0-9_-]` from which ids are made that the provider left out. It may be created on first use. */
  readonly seed: string;
  /** Called with each finished item of a `responses` answer, as JSON text. */
  readonly remember?: ((id: string, item: string) => void) | undefined;
}

/** Error for a provider's answer that violates its dialect and cannot be translated. The message never quotes the answer. */
export class AnswerProblem extends Error {
  override readonly name = "AnswerProblem";
}

/** Error for a provider's stream that ended before its answer did. The part that arrived may be valid. */
export class StreamEndedEarly extends AnswerProblem {
  constructor(what = "its answer did") {
    super(`the stream ended before ${what}`);
  }
}

/**
 * Translates a stream event by event. It only buffers fragments of a tool call that is interleaved with another, since the
 * target grammar does not allow interleaved blocks.
 */
export interface StreamTranslation {
  /**
   * Translates one event of the provider. `name` is its `event` field, or empty; `data` is its data. Returns frames for the
   * client, or an empty text. Throws `AnswerProblem`; the stream has then ended.
   */
  translateEvent(name: string, data: string): string;
  /**
   * Handles a comment or keep-alive of the provider. Returns a frame without content that keeps the client's connection alive.
   */
  keepAlive(): string;
  /**
   * Ends the stream after the provider's. Returns the last frames. Throws `AnswerProblem` if the stream ended before its answer
   * did, so that the client gets an error instead of a false end.
   */
  end(): string;
  /**
   * Returns the last frames of a `responses` stream that the gateway ends itself, or an empty text if it has ended. They repeat
   * the finished items, so a caller that holds back the content of an item uses `responsesFailure` instead. `code` is lower
   * case with underscores.
   */
  endWithFailure?(failure: { readonly code: string; readonly message: string }): string;
  /**
   * State of the stream. `ending`: the provider's answer is complete, but its usage may still follow; `end` writes the last
   * frames without it. `ended`: the answer is complete. `failed`: the provider's own error was sent to the client as the last
   * frame.
   */
  readonly state: "open" | "ending" | "ended" | "failed";
}
