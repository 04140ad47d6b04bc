/** Data about a `responses` request that is needed to read its answer. Source: responses reference, 4 to 6. */
import type { Values } from "../json/json-values.ts";
import type { AnswerTerms, ReasoningSeal } from "./types.ts";

/** Tool under the name that the client knows. */
export interface ClientTool {
  readonly name: string;
  /** Namespace of the tool, if any; the provider's name of the tool combines both. */
  readonly namespace: string | undefined;
  /** Whether its input is free text, which the provider writes as the member `input` of an object. */
  readonly isCustom: boolean;
}

export interface ResponsesTerms {
  /** Whether the client asked for a stream. */
  readonly wantsStream: boolean;
  readonly model: AnswerTerms["model"];
  /** Tools by the name that the provider knows. A tool that is missing here is a function with that name. */
  readonly tools: ReadonlyMap<string, ClientTool>;
  /** Whether `reasoning.summary` was requested. */
  readonly showsSummary: boolean;
  readonly wantsLogprobs: boolean;
  /**
   * Members of the request that the response repeats, with their defaults if the client left them out; JSON values. Members
   * that the answer sets itself (`id`, `status`, `model`, `output`, `usage`, times, errors) are not included.
   */
  readonly echo: Values;
  /** Returns the `call_id`s of the request's input, which no call of the answer may repeat. Computed on first use. */
  readonly takenCallIds: () => ReadonlySet<string>;
  /** Seal for reasoning; `undefined` if reasoning is not sealed and cannot be sent back. */
  readonly seal: ReasoningSeal | undefined;
}
