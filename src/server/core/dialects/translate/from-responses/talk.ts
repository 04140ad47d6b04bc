/**
 * The conversation of a request for a response, in no dialect: rounds of what the assistant said and did, what its tools gave,
 * and what was said to it then. Source: responses reference, 3.1.
 */

/** `marked`: the part is a place to cache up to, as the client wrote it. */
interface Marked {
  readonly marked: unknown;
}

export interface TextPart extends Marked {
  readonly kind: "text";
  readonly text: string;
}

export interface ImagePart extends Marked {
  readonly kind: "image";
  readonly url: string;
  readonly detail: string | undefined;
}

/** Either `data` or `url` is known. */
export interface FilePart extends Marked {
  readonly kind: "file";
  readonly name: string | undefined;
  /** A data URI. */
  readonly data: string | undefined;
  readonly url: string | undefined;
}

export interface AudioPart extends Marked {
  readonly kind: "audio";
  readonly audio: unknown;
}

export type Part = TextPart | ImagePart | FilePart | AudioPart;

/** As the client gave it: one text, or parts. */
export type Content = string | readonly Part[];

export interface Said {
  readonly role: "system" | "user";
  readonly content: Content;
}

export interface Call {
  readonly kind: "call";
  /** As the client has it. */
  readonly id: string;
  /** As the provider is sent it. */
  readonly name: string;
  /** Arguments as JSON text, or what a custom tool was given. */
  readonly input: string;
  readonly isCustom: boolean;
  /** Among the calls of its round. */
  readonly position: number;
}

export interface Output {
  /** Undefined: of no call that the conversation holds. */
  readonly call: Call | undefined;
  readonly id: string;
  readonly content: Content;
}

/** Thought before what follows it in the round. */
export interface Thought {
  readonly kind: "thought";
  /** Undefined: there is nothing that a provider could know again. */
  readonly sealed: string | undefined;
  readonly place: string;
}

export interface Spoken {
  readonly kind: "spoken";
  readonly text: string;
  readonly isRefusal: boolean;
}

export type Step = Thought | Spoken | Call;

export interface Round {
  /** Empty in the first alone, or where nothing of it can be told. */
  readonly steps: Step[];
  /** In the order of the calls; those of no call last. */
  readonly outputs: readonly Output[];
  readonly said: Said[];
}

export interface Talk {
  /** Before anything else is said. */
  readonly system: readonly Content[];
  readonly rounds: readonly Round[];
  /** Of calls and outputs, as the client has them. */
  readonly callIds: ReadonlySet<string>;
}
