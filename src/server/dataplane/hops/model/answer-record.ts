/**
 * Records the guardrail decisions on one answer once: in metrics, audit trail and span, and in the headers if they have not
 * been sent.
 */
import { GatewayError } from "../../../../base/index.ts";
import type { Guard, InspectionContext, JudgedAnswer } from "../../../core/guardrails/index.ts";
import { answerFacts, formatDecisions, type GuardrailSinks } from "../../../core/guardrails/index.ts";
import type { Downstream } from "../../../upstream/index.ts";
import type { Exchange } from "../../exchange.ts";
import type { EffectiveProfile } from "../../governance/effective-profile.ts";
import { settleAnswer } from "../../governance/guardrails.ts";
import type { InspectionSpan } from "../../tracing.ts";
import type { Target } from "./resolve-target.ts";

interface RecordContext {
  readonly target: Target;
  readonly effective: EffectiveProfile;
  readonly sinks: GuardrailSinks;
}

export interface AnswerInspection extends RecordContext {
  readonly guard: Guard;
  /** Inspection state of the request. */
  readonly inspectionContext: InspectionContext;
  /** Milliseconds of silence after which the head of a stream is sent. */
  readonly heartbeatMs: number;
}

export interface InspectedDownstream extends Downstream {
  /**
   * Whether the answer is decoded from a content encoding. Its decoded size is only known at the end, so an answer that is not a
   * stream is sent only then.
   */
  isDecoded: boolean;
  /** Returns a promise that resolves when the inspection of the answer has ended, or `undefined` if it has already. */
  readonly whenFinished: () => Promise<void> | undefined;
}

export class AnswerRecord {
  readonly #exchange: Exchange;
  readonly #answer: JudgedAnswer;
  readonly #recording: RecordContext;
  readonly #span: InspectionSpan | undefined;
  #isSettled = false;

  constructor(to: Exchange, answer: JudgedAnswer, recording: RecordContext) {
    this.#exchange = to;
    this.#answer = answer;
    this.#recording = recording;
    this.#span = to.report.span?.inspection("response");
  }

  /** Adds the rules that have acted so far to the headers, which are about to be sent. */
  addGuardrailHeaders(): void {
    if (!this.#isSettled)
      this.#exchange.report.addGuardrails(formatDecisions(this.#answer.judged.guarded.judgement?.decisions ?? []));
  }

  /** Records the decisions. Returns the refusal of the answer, or `undefined` if it is not refused or was settled before. */
  settle(): GatewayError | undefined {
    if (this.#isSettled) return undefined;
    this.#isSettled = true;
    const { target, effective, sinks } = this.#recording;
    const { judged } = this.#answer;
    const request = {
      requestId: this.#exchange.requestId,
      hop: "llm",
      route: target.route.name,
      to: this.#exchange.report.labels.provider,
      model: target.model,
    } as const;
    this.#endSpan();
    this.#exchange.report.facts.trace?.recordAnswerFindings(judged.found);
    try {
      const { error, decisionsHeader: acted } = settleAnswer(judged, request, effective, sinks);
      this.#exchange.report.addGuardrails(acted);
      return error;
    } catch (error) {
      if (error instanceof GatewayError) return error;
      throw error;
    }
  }

  #endSpan(): void {
    this.#span?.end(answerFacts(this.#answer, this.#exchange.isGone));
  }
}
