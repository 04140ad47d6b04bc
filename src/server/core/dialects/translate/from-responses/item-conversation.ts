/**
 * Conversation of a `responses` request, independent of a dialect: rounds of the assistant's messages and calls, the outputs of
 * its tools, and the messages that followed. Source: responses reference, 3.1.
 */

/** Part that may have a cache mark. `marked` is the mark as the client wrote it. */
interface CacheMarkable {
  readonly marked: unknown;
}

interface TextPart extends CacheMarkable {
  readonly kind: "text";
  readonly text: string;
}

export interface ImagePart extends CacheMarkable {
  readonly kind: "image";
  readonly url: string;
  readonly detail: string | undefined;
}

/** File; either `data` or `url` is known. */
export interface FilePart extends CacheMarkable {
  readonly kind: "file";
  readonly name: string | undefined;
  /** Contents as a data URI. */
  readonly data: string | undefined;
  readonly url: string | undefined;
}

interface AudioPart extends CacheMarkable {
  readonly kind: "audio";
  readonly audio: unknown;
}

export type Part = TextPart | ImagePart | FilePart | AudioPart;

/** Content from the client: one text, or parts. */
export type Content = string | readonly Part[];

export interface ClientMessage {
  readonly role: "system" | "user";
  readonly content: Content;
}

export interface Call {
  readonly kind: "call";
  /** Id of the call from the client. */
  readonly id: string;
  /** Name of the tool as it is sent to the provider. */
  readonly name: string;
  /** Arguments as JSON text, or the input of a custom tool. */
  readonly input: string;
  readonly isCustom: boolean;
  /** Position among the calls of its round. */
  readonly position: number;
}

export interface Output {
  /** Call that the output belongs to; `undefined` if the conversation does not contain it. */
  readonly call: Call | undefined;
  readonly id: string;
  readonly content: Content;
}

/** Thinking before the next step of the round. */
export interface Thought {
  readonly kind: "thought";
  /** Sealed reasoning; `undefined` if the item has none. */
  readonly sealed: string | undefined;
  readonly place: string;
}

export interface AssistantText {
  readonly kind: "text";
  readonly text: string;
  readonly isRefusal: boolean;
}

export type Step = Thought | AssistantText | Call;

export interface Round {
  /** Steps of the assistant. Empty only in the first round, or if no step can be sent. */
  readonly steps: Step[];
  /** Outputs in the order of the calls; outputs without a call come last. */
  readonly outputs: readonly Output[];
  readonly messages: ClientMessage[];
}

export interface ItemConversation {
  /** Instructions before the first message. */
  readonly system: readonly Content[];
  readonly rounds: readonly Round[];
  /** Ids of calls and outputs, as the client has them. */
  readonly callIds: ReadonlySet<string>;
}
