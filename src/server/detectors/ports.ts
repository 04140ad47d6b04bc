/** What detectors need of others. */
import type { AttemptTracer } from "../../base/index.ts";

export interface ModelTurn {
  readonly role: "user" | "assistant";
  readonly text: string;
}

/** A question to a model of a configured provider, in no dialect. */
export interface ModelQuestion {
  /** Name of the detector that asks; the call is told of under `gateway:<detector>`. */
  readonly detector: string;
  readonly provider: string;
  readonly model: string;
  readonly system: string | undefined;
  readonly turns: readonly ModelTurn[];
  /** Of the answer, in tokens. */
  readonly maxTokens: number;
  /**
   * Variables of the server's chat template. With them only channels of the compat dialect are asked; undefined: any. `parts`:
   * turns are sent as lists of typed parts, which some templates want.
   */
  readonly template: { readonly variables: Readonly<Record<string, unknown>>; readonly parts: boolean } | undefined;
}

export interface ModelSaid {
  readonly text: string;
  /** It came to its own end: neither cut off nor refused by the model. */
  readonly isFinished: boolean;
  /** Of the question, as the server counted; undefined: it does not say. */
  readonly promptTokens: number | undefined;
}

/**
 * With the provider's credential, suspensions, retry, failover and metering; without access rules, lists, budgets or
 * guardrails, which would ask again. Rejects with an error whose message names no text, or with the signal's reason.
 */
export type CallModel = (
  question: ModelQuestion,
  signal: AbortSignal,
  /** Undefined: nobody traces. */
  tracer?: AttemptTracer,
) => Promise<ModelSaid>;
