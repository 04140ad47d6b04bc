/**
 * Interface of translation: the facts about the channel and the request that a translator gets, and what it returns.
 *
 * Everything here is pure: ids and times are passed in. No error contains text of a prompt or an answer.
 */
import type { Capability } from "../fidelity/capabilities.ts";
import type { Loss } from "../fidelity/losses.ts";
import type { Dialect } from "../routes.ts";

/** Facts about the channel that the request goes to. */
export interface ChannelTerms {
  /** Whether the channel claims it; one without a list claims all that its dialect can express. */
  readonly claims: (capability: Capability) => boolean;
  /** Compat only: the field that identifies the end user to the provider. */
  readonly endUserField: "user" | "safety_identifier";
  /** Compat only: a streamed request may ask for usage. */
  readonly acceptsStreamUsage: boolean;
  /** Only a request for a response is translated with one: what its reasoning is kept in. */
  readonly seal?: ReasoningSeal | undefined;
}

/**
 * Sealed block of thinking, which its provider must be sent back unchanged. `t`: thinking and its signature; `r`: redacted;
 * `c`: unsigned reasoning; `d`: details in place of reasoning.
 */
export type SealedBlock =
  | { readonly k: "t"; readonly x: string; readonly s: string }
  | { readonly k: "r"; readonly x: string }
  | { readonly k: "c"; readonly x: string }
  | { readonly k: "d"; readonly j: unknown };

/** Bound to the caller, to the form and the maker of the channel, and to the model as the provider is sent it. */
export interface ReasoningSeal {
  seal(blocks: readonly SealedBlock[]): string;
  /**
   * Returns the blocks, or `undefined` if the gateway did not seal them, they were changed, or they belong to another caller,
   * provider or model.
   */
  open(sealed: string): readonly SealedBlock[] | undefined;
}

export interface TranslatedRequest {
  /** JSON text. */
  readonly body: string;
  readonly answer: AnswerTerms;
  /** Losses that were found only during translation; all soft. */
  readonly lost?: readonly Loss[] | undefined;
}

/** A request as its channel is sent it, and how the answer becomes the client's. */
export interface Translated {
  /** JSON text. */
  readonly body: string;
  readonly reading: AnswerReading;
  /** Losses that were found only during translation; all soft. */
  readonly lost?: readonly Loss[] | undefined;
}

/** How the answer to a translated request becomes the client's. `stamp` is made when the answer begins. */
export interface AnswerReading {
  /** Opens the translation of a stream; `undefined` if no stream was requested. */
  stream(stamp: AnswerStamp): StreamTranslation | undefined;
  /** Throws `AnswerProblem`. `asStream`: a whole answer where a stream was asked for. */
  whole(body: string, stamp: AnswerStamp, asStream: boolean): string;
}

/** The request is not of its dialect where translating it takes reading it. */
export class RequestProblem extends Error {
  override readonly name = "RequestProblem";
  /** Path of the field, like `messages[2].content`; quotes nothing of the request. */
  readonly param: string;

  constructor(param: string, message: string) {
    super(message);
    this.param = param;
  }
}

/** Facts about a request that are needed to read its answer. */
export interface AnswerTerms {
  /** The dialect of the client, in which the answer is written. */
  readonly client: Dialect;
  /** The client asked for a stream. */
  readonly streams: boolean;
  /** The model as the provider is sent it, and as the client asked for it: an answer that names the first shows the second. */
  readonly model: { readonly sent: string; readonly asked: string };
  /** Names of tools that were changed on the way, as the provider has them, to the client's own. */
  readonly toolNames: ReadonlyMap<string, string>;
  /** Whether a stream to a compat client ends with a chunk that has the usage. */
  readonly showsUsage: boolean;
  /** Compat client: it speaks of `functions`, and reads `function_call`. */
  readonly callsFunctions: boolean;
  /** Messages client: it asked for thinking, and is shown what the provider calls reasoning. */
  readonly showsThinking: boolean;
  /**
   * Returns an estimate of the prompt's tokens for the beginning of a stream to a messages client; the end of the stream has
   * the provider's count. Some libraries read only the beginning. It serves display only.
   */
  readonly inputEstimate: () => number;
}

/** Values that the answer needs and translation cannot produce. */
export interface AnswerStamp {
  /** Seconds since 1970. */
  readonly created: number;
  /** The same when it is asked. Undefined: an answer is taken to be complete in the second in which it began. */
  readonly now?: () => number;
  /**
   * Seed of the gateway's request for ids that the provider left out. `[A-Za-z0-9_-]`, unique. It may be created on first use.
   */
  readonly seed: string;
  /** Called with each finished item of a `responses` answer, as JSON text. */
  readonly remember?: ((id: string, item: string) => void) | undefined;
}

/** The provider's answer is not of its dialect: nothing true can be made of it. The message quotes none of it. */
export class AnswerProblem extends Error {
  override readonly name = "AnswerProblem";
}

/** The provider's stream ended before its answer did: it broke off, and what came of it may be sound. */
export class EarlyEnd extends AnswerProblem {
  constructor(what = "its answer did") {
    super(`the stream ended before ${what}`);
  }
}

/**
 * Translates a stream event by event. It buffers only what the grammar requires: fragments of a tool call that is interleaved
 * with another, since blocks must not interleave.
 */
export interface StreamTranslation {
  /**
   * Translates one event of the provider. `name` is its `event` field, or empty; `data` is its data. Returns frames for the
   * client, or an empty text. Throws `AnswerProblem`; the stream has then ended.
   */
  event(name: string, data: string): string;
  /** A comment or a sign of life of the provider: a frame that keeps the client's connection alive and means nothing. */
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
  failure?(failure: { readonly code: string; readonly message: string }): string;
  /**
   * State of the stream. `ended`: the answer is complete. `failed`: the provider's own error was sent to the client as the last
   * frame.
   */
  readonly state: "open" | "ended" | "failed";
}
