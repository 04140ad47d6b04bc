/** What is to be known of a request for a response to read its answer. Source: responses reference, 4 to 6. */
import type { Values } from "../values.ts";
import type { AnswerTerms, ReasoningSeal } from "./types.ts";

/** A tool as the client knows it. */
export interface ClientTool {
  readonly name: string;
  /** Of a tool that stands in one; the provider knows it by a name of both. */
  readonly namespace: string | undefined;
  /** Its input is a text of any form, which the provider is made to write as the member `input` of an object. */
  readonly isCustom: boolean;
}

export interface ResponsesTerms {
  /** The client asked for a stream. */
  readonly streams: boolean;
  readonly model: AnswerTerms["model"];
  /** By the name that the provider knows. A tool that is not here is a function of that name. */
  readonly tools: ReadonlyMap<string, ClientTool>;
  /** `reasoning.summary` was asked for. */
  readonly showsSummary: boolean;
  readonly wantsLogprobs: boolean;
  /**
   * Members of the request that the response repeats, with their defaults where the client left them out; JSON values. What
   * the answer itself says (`id`, `status`, `model`, `output`, `usage`, times, errors) is not among them.
   */
  readonly echo: Values;
  /** `call_id`s of the request's input: no call of the answer gets one again. Made when it is read. */
  readonly takenCallIds: () => ReadonlySet<string>;
  /** Undefined: reasoning is not sealed, and cannot be sent back. */
  readonly seal: ReasoningSeal | undefined;
}
