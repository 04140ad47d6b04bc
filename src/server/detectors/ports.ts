/** Interfaces that detectors need from other modules. */
import type { AttemptTracer } from "../../base/index.ts";

interface ModelMessage {
  readonly role: "user" | "assistant";
  readonly text: string;
}

/** Question to a model of a configured provider, independent of the dialect. */
export interface ModelQuestion {
  /** Name of the calling detector; the call is recorded under `gateway:<detector>`. */
  readonly detector: string;
  readonly provider: string;
  readonly model: string;
  readonly system: string | undefined;
  readonly turns: readonly ModelMessage[];
  /** Maximum length of the answer, in tokens. */
  readonly maxTokens: number;
  /**
   * Variables of the server's chat template, which only channels of the compat dialect accept; `undefined` for any
   * channel. With `parts`, turns are sent as lists of typed parts, which some templates require.
   */
  readonly template: { readonly variables: Readonly<Record<string, unknown>>; readonly parts: boolean } | undefined;
}

export interface ModelAnswer {
  readonly text: string;
  /** True if the answer is complete: neither cut off nor refused by the model. */
  readonly isFinished: boolean;
  /** Prompt tokens counted by the server; `undefined` if it does not report them. */
  readonly promptTokens: number | undefined;
}

/**
 * Function that calls a model with the provider's credential, suspensions, retry, failover and metering, but without
 * access rules, lists, budgets or guardrails, which would cause further calls. Rejects with an error whose message
 * contains no text, or with the signal's reason.
 */
export type CallModel = (
  question: ModelQuestion,
  signal: AbortSignal,
  /** Tracer; `undefined` if tracing is off. */
  tracer?: AttemptTracer,
) => Promise<ModelAnswer>;
