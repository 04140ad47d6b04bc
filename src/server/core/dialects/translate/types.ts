/**
 * The face of translation: what a translator is told of the channel and of the request, and what it gives back.
 *
 * Everything here is pure: ids and times come in as values. Text of a prompt or an answer stands in no error.
 */
import type { Capability } from "../fidelity/capabilities.ts";
import type { Loss } from "../fidelity/losses.ts";
import type { Dialect } from "../routes.ts";

/** What the translator must know of the channel that the request goes to. */
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
 * A block of thinking as it is sealed: what its provider must be sent back as it said it. `t`: thinking and its signature;
 * `r`: redacted; `c`: reasoning that nobody signed; `d`: the details that stood in its place.
 */
export type SealedBlock =
  | { readonly k: "t"; readonly x: string; readonly s: string }
  | { readonly k: "r"; readonly x: string }
  | { readonly k: "c"; readonly x: string }
  | { readonly k: "d"; readonly j: unknown };

/** Bound to the caller, to the form and the maker of the channel, and to the model as the provider is sent it. */
export interface ReasoningSeal {
  seal(blocks: readonly SealedBlock[]): string;
  /** Undefined: not ours, changed on the way, or of another caller, maker or model. */
  open(sealed: string): readonly SealedBlock[] | undefined;
}

export interface TranslatedRequest {
  /** JSON text. */
  readonly body: string;
  readonly answer: AnswerTerms;
  /** What was found to be lost only while it was written; soft. */
  readonly lost?: readonly Loss[] | undefined;
}

/** A request as its channel is sent it, and how the answer becomes the client's. */
export interface Translated {
  /** JSON text. */
  readonly body: string;
  readonly reading: AnswerReading;
  /** What was found to be lost only while it was written; soft. */
  readonly lost?: readonly Loss[] | undefined;
}

/** How the answer to a translated request becomes the client's. `stamp` is made when the answer begins. */
export interface AnswerReading {
  /** Undefined: no stream was asked for. */
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

/** What is to be known of a request to read its answer. */
export interface AnswerTerms {
  /** The dialect of the client, in which the answer is written. */
  readonly client: Dialect;
  /** The client asked for a stream. */
  readonly streams: boolean;
  /** The model as the provider is sent it, and as the client asked for it: an answer that names the first shows the second. */
  readonly model: { readonly sent: string; readonly asked: string };
  /** Names of tools that were changed on the way, as the provider has them, to the client's own. */
  readonly toolNames: ReadonlyMap<string, string>;
  /** Compat client: a stream ends with a chunk that tells usage. */
  readonly showsUsage: boolean;
  /** Compat client: it speaks of `functions`, and reads `function_call`. */
  readonly callsFunctions: boolean;
  /** Messages client: it asked for thinking, and is shown what the provider calls reasoning. */
  readonly showsThinking: boolean;
  /**
   * Messages client: tokens of the prompt, about, for the beginning of a stream, whose end tells the provider's count. Some
   * libraries read it nowhere else. Only for the client's eyes.
   */
  readonly inputEstimate: () => number;
}

/** What the answer needs and translation cannot make. */
export interface AnswerStamp {
  /** Seconds since 1970. */
  readonly created: number;
  /** The same when it is asked. Undefined: an answer is taken to be complete in the second in which it began. */
  readonly now?: () => number;
  /** Of the gateway's request: ids that the provider left out are made from it. `[A-Za-z0-9_-]`, unique. May be made when it is read. */
  readonly seed: string;
  /** Responses: told of each item of the answer once it is whole, as JSON text. */
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
 * Translates a stream event by event. It holds no more than the grammar demands: fragments of a tool call that comes
 * interleaved with another, since blocks may not interleave.
 */
export interface StreamTranslation {
  /**
   * One event of the provider. `name`: its `event` field, or empty; `data`: its data. Returns frames for the client, or an
   * empty text. Throws `AnswerProblem`; the stream is then over.
   */
  event(name: string, data: string): string;
  /** A comment or a sign of life of the provider: a frame that keeps the client's connection alive and means nothing. */
  keepAlive(): string;
  /**
   * The provider's stream has ended. Returns the last frames; throws `AnswerProblem` where it ended before its answer did,
   * so that the client is told instead of being given an end that never was.
   */
  end(): string;
  /**
   * Responses: the last frames of a stream that the gateway ends itself, or empty where it is over. They repeat the items
   * that are whole, so that whoever holds back what was in one uses `responsesFailure`. `code`: lower case with underscores.
   */
  failure?(failure: { readonly code: string; readonly message: string }): string;
  /** `ended`: the answer is complete. `failed`: the provider's own error went to the client as its last frame. */
  readonly state: "open" | "ended" | "failed";
}
