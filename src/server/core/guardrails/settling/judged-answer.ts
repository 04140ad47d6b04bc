/**
 * Inspection of one answer: judges whole texts and stretches of streamed texts as they arrive, and collects all decisions for
 * one record. Earlier findings count in later conditions, and placeholders have the numbers that the request gave them. Source:
 * design decisions, section 11.
 */

import type {
  DetectorFindings,
  Inspection,
  InspectionContext,
  Judgement,
  RuleDecision,
  RuleFault,
} from "../judgement.ts";
import type { DetectionResult, Failure, Guard } from "../population-guard.ts";
import { type MaybePromise, mapMaybePromise } from "../streams/index.ts";
import type { Segment } from "../types.ts";
import { type AnswerResult, addFindingCounts } from "./settle.ts";

const NOTHING_JUDGED = { decisions: [], skipped: [], annotations: [], shadow: [], fpeDomainTooSmall: 0 };

export class JudgedAnswer {
  readonly guard: Guard;
  readonly #signal: AbortSignal;
  readonly #tracer: InspectionContext["tracer"];
  readonly #inspection: Inspection;
  readonly #decisions = new Map<string, RuleDecision>();
  readonly #skipped = new Map<string, RuleFault>();
  readonly #failures = new Map<string, Failure>();
  /**
   * Detectors that timed out in a stretch and may be skipped. They are not run again, since the end would otherwise wait for
   * them once per stretch.
   */
  readonly #timedOut = new Set<string>();
  readonly #shadow: Record<string, Record<string, number>> = {};
  readonly #found: Record<string, Record<string, number>> = {};
  #fpeDomainTooSmall = 0;
  #refusal: Exclude<Judgement, { readonly outcome: "allow" }> | undefined;
  #hasFailed = false;
  #isOversize = false;
  #isRewritten = false;
  /** Number of judged texts; each stretch counts as one. */
  segments = 0;

  /**
   * Begins an inspection with the variables, the rewriting state and the tracer of the request. `signal` aborts when the client
   * has disconnected.
   */
  constructor(guard: Guard, { variables, rewriting, tracer }: InspectionContext, signal: AbortSignal) {
    this.guard = guard;
    this.#signal = signal;
    this.#tracer = tracer;
    this.#inspection = guard.open({ variables: { ...variables, direction: "response" }, rewriting });
  }

  /** True if no more of the answer is shown. */
  get isRefused(): boolean {
    return this.#refusal !== undefined || this.#hasFailed || this.#isOversize;
  }

  /** True if part of it was shown rewritten. */
  get isRewritten(): boolean {
    return this.#isRewritten;
  }

  /** Scans a streamed text. Returns `undefined` if the answer is refused. */
  scanStretch(text: string, by: "bounded" | "open"): MaybePromise<readonly DetectorFindings[] | undefined> {
    if (this.isRefused) return undefined;
    const found = this.guard.scanStretch(segmentOf(text), by, this.#signal, this.#timedOut, this.#tracer);
    return mapMaybePromise(found, (all) => this.#recordFailures(all));
  }

  judgeStretch(stretch: string, found: readonly DetectorFindings[]): Judgement {
    return this.#addJudgement(this.#inspection.judge({ segments: [segmentOf(stretch)], found }), 1);
  }

  /** Judges whole texts. Returns the rewritten texts; `undefined` if the answer is refused. */
  judgeTexts(texts: readonly string[]): MaybePromise<readonly RewrittenText[] | undefined> {
    return this.message(texts.map(segmentOf));
  }

  /** Judges segments of any kind, like `judgeTexts`. */
  message(segments: readonly Segment[]): MaybePromise<readonly RewrittenText[] | undefined> {
    if (this.isRefused) return undefined;
    const guarded = this.guard.inspectAnswer(segments, this.#inspection, this.#signal, this.#tracer);
    return mapMaybePromise(guarded, ({ found, judgement }) => {
      if (this.#recordFailures(found) === undefined || judgement === undefined) return undefined;
      const gathered = this.#addJudgement(judgement, segments.length);
      return gathered.outcome === "allow" ? gathered.rewrites : undefined;
    });
  }

  /** Refuses an answer that exceeds the inspection limit with `on_oversize: deny`. */
  refuseOversize(): void {
    this.#isOversize = true;
  }

  get judged(): AnswerResult {
    const failures = [...this.#failures.values()];
    const gathered = {
      ...NOTHING_JUDGED,
      decisions: [...this.#decisions.values()],
      skipped: [...this.#skipped.values()],
      fpeDomainTooSmall: this.#fpeDomainTooSmall,
    };
    const judgement: Judgement | undefined = this.#hasFailed
      ? undefined
      : this.#refusal === undefined
        ? { outcome: "allow", rewrites: [], ...gathered }
        : { ...this.#refusal, ...gathered };
    return { guarded: { judgement, failures }, shadow: this.#shadow, found: this.#found, isOversize: this.#isOversize };
  }

  #recordFailures({ byDetector, failures }: DetectionResult): readonly DetectorFindings[] | undefined {
    for (const failure of failures) {
      this.#failures.set(`${failure.detector} ${failure.kind}`, failure);
      if (failure.isFatal) this.#hasFailed = true;
      else if (failure.kind === "timeout") this.#timedOut.add(failure.detector);
    }
    return this.isRefused ? undefined : byDetector;
  }

  #addJudgement(judgement: Judgement, segments: number): Judgement {
    this.segments += segments;
    for (const decision of judgement.decisions) {
      const name = `${decision.rule} ${decision.action}`;
      const before = this.#decisions.get(name);
      this.#decisions.set(name, before === undefined ? decision : sumDecisions(before, decision));
    }
    for (const fault of judgement.skipped) this.#skipped.set(`${fault.rule} ${fault.part} ${fault.error}`, fault);
    addFindingCounts(judgement.shadow, this.#shadow);
    addFindingCounts(judgement.annotations, this.#found);
    this.#fpeDomainTooSmall += judgement.fpeDomainTooSmall;
    if (judgement.outcome !== "allow") this.#refusal ??= judgement;
    else if (judgement.rewrites.some((one) => one !== undefined)) this.#isRewritten = true;
    return judgement;
  }
}

/** Rewritten text; `undefined` if the text stays as it is. */
export type RewrittenText = Extract<Judgement, { readonly outcome: "allow" }>["rewrites"][number];

const segmentOf = (text: string): Segment => ({ kind: "output", text, ref: "", turn: 0, isReadOnly: false });

function sumDecisions(one: RuleDecision, other: RuleDecision): RuleDecision {
  const types: Record<string, number> = { ...one.types };
  for (const [type, count] of Object.entries(other.types)) types[type] = (types[type] ?? 0) + count;
  return { ...one, types, kinds: [...new Set([...one.kinds, ...other.kinds])] };
}
