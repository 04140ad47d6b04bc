/** What was decided of one answer, told once: counted, recorded, on its span, and in its headers where they are not gone. */
import { GatewayError } from "../../../../base/index.ts";
import type { Guard, JudgedAnswer, Occasion } from "../../../core/guardrails/index.ts";
import { actedIn, answerFacts, type GuardrailSinks } from "../../../core/guardrails/index.ts";
import type { Downstream } from "../../../upstream/index.ts";
import type { Exchange } from "../../exchange.ts";
import { settleAnswer } from "../../governance/guardrails.ts";
import type { Standing } from "../../governance/standing.ts";
import type { InspectionSpan } from "../../tracing.ts";
import type { Target } from "./address.ts";

export interface Recording {
  readonly target: Target;
  readonly standing: Standing;
  readonly sinks: GuardrailSinks;
}

export interface Inspecting extends Recording {
  readonly guard: Guard;
  /** Of the request. */
  readonly occasion: Occasion;
  /** A stream that is silent for so many milliseconds is begun. */
  readonly heartbeatMs: number;
}

export interface InspectedDownstream extends Downstream {
  /** The answer came encoded. What it unpacks to is known only at its end: nothing of a whole one is shown before. */
  isDecoded: boolean;
  /** Once nothing of the answer is judged any more; undefined: it is so. */
  readonly over: () => Promise<void> | undefined;
}

export class AnswerRecord {
  readonly #to: Exchange;
  readonly #answer: JudgedAnswer;
  readonly #recording: Recording;
  readonly #span: InspectionSpan | undefined;
  #isSettled = false;

  constructor(to: Exchange, answer: JudgedAnswer, recording: Recording) {
    this.#to = to;
    this.#answer = answer;
    this.#recording = recording;
    this.#span = to.span?.inspection("response");
  }

  /** Headers are about to go: they tell of the rules that acted until now. */
  tellHeaders(): void {
    if (!this.#isSettled) this.#tell(actedIn(this.#answer.judged.guarded.judgement?.decisions ?? []));
  }

  /** Once. What the answer is refused for; undefined: it is not, or that was told before. */
  settle(): GatewayError | undefined {
    if (this.#isSettled) return undefined;
    this.#isSettled = true;
    const { target, standing, sinks } = this.#recording;
    const { judged } = this.#answer;
    const request = {
      requestId: this.#to.requestId,
      hop: "llm",
      route: target.route.name,
      to: this.#to.labels.provider,
      model: target.model,
    } as const;
    this.#endSpan();
    this.#to.facts.trace?.answered(judged.found);
    try {
      const { error, acted } = settleAnswer(judged, request, standing, sinks);
      this.#tell(acted);
      return error;
    } catch (error) {
      if (error instanceof GatewayError) return error;
      throw error;
    }
  }

  #endSpan(): void {
    this.#span?.end(answerFacts(this.#answer, this.#to.gone));
  }

  #tell(acted: string): void {
    if (acted === "") return;
    const before = this.#to.guardrails;
    this.#to.guardrails = before === "" ? acted : `${before}, ${acted}`;
  }
}
