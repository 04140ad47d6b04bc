/** Facts about a `responses` request that are needed to read its answer. Source: responses reference, 4 to 6. */
import type { Values } from "../values.ts";
import type { AnswerTerms, ReasoningSeal } from "./types.ts";

/** A tool as the client knows it. */
export interface ClientTool {
  readonly name: string;
  /** Namespace of the tool, if any; the provider's name of the tool combines both. */
  readonly namespace: string | undefined;
  /** Whether its input is free text, which the provider writes as the member `input` of an object. */
  readonly isCustom: boolean;
}

export interface ResponsesTerms {
  /** The client asked for a stream. */
  readonly streams: boolean;
  readonly model: AnswerTerms["model"];
  /** Tools by the provider's name. A tool that is missing here is a function of that name. */
  readonly tools: ReadonlyMap<string, ClientTool>;
  /** `reasoning.summary` was asked for. */
  readonly showsSummary: boolean;
  readonly wantsLogprobs: boolean;
  /**
   * Members of the request that the response repeats, with their defaults if the client left them out; JSON values. Members
   * that the answer sets itself (`id`, `status`, `model`, `output`, `usage`, times, errors) are not included.
   */
  readonly echo: Values;
  /** `call_id`s of the request's input: no call of the answer gets one again. Made when it is read. */
  readonly takenCallIds: () => ReadonlySet<string>;
  /** Seal for reasoning; `undefined` if reasoning is not sealed and cannot be sent back. */
  readonly seal: ReasoningSeal | undefined;
}
