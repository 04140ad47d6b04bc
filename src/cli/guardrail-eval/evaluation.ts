/** Second pass over the data: inspects every case and counts the results. */

import type { SegmentKind } from "../../server/core/guardrails/index.ts";
import type { Subject } from "./compile-subject.ts";
import type { EvalCase, Mark } from "./evaluation-case.ts";
import { countFailures, type FailedCases } from "./failure-counts.ts";
import { type CaseFinding, type ChatTurn, findingsIn, removedFindings, runDetectors } from "./inspect-case.ts";
import type { Scope } from "./survey-data.ts";
import { count, createTally, type Outcome, type Tally } from "./tally.ts";
import { createSweep, type Sweep, type SweepOptions } from "./threshold-sweep.ts";
import type { NameNormalizer } from "./type-names.ts";
import { explainCase, faultsOf, type NearMiss, type WrongCase } from "./wrong-cases.ts";

export interface EvaluationOptions {
  readonly subject: Subject;
  readonly names: NameNormalizer;
  readonly scope: Scope;
  /** Kind of segment for cases that name none. */
  readonly kind: SegmentKind;
  /** Only detector whose findings count; `undefined` for all. */
  readonly detector: string | undefined;
  /** Maximum number of wrong cases to keep. */
  readonly errors: number;
  readonly keepsVerdicts: boolean;
  readonly sweeps: boolean;
  readonly sweeping?: SweepOptions;
  readonly signal: AbortSignal;
}

export interface Verdict {
  readonly index: number;
  readonly case: EvalCase;
  readonly outcome: Outcome;
  readonly findings: readonly CaseFinding[];
}

export interface Evaluation {
  readonly total: Tally;
  readonly byTag: ReadonlyMap<string, Tally>;
  /** First wrong cases, in the order of the data. */
  readonly wrong: readonly WrongCase[];
  wrongCases: number;
  /** Verdicts in the order of the data. */
  readonly verdicts: readonly Verdict[];
  readonly failed: FailedCases;
  readonly sweep: Sweep | undefined;
  /** Adds a case; several may be in progress at the same time. */
  readonly add: (evalCase: EvalCase, index: number) => Promise<void>;
}

export function createEvaluation(options: EvaluationOptions): Evaluation {
  const { subject, names, scope } = options;
  const total = createTally();
  const byTag = new Map<string, Tally>();
  const wrong: WrongCase[] = [];
  const verdicts: Verdict[] = [];
  const failures = countFailures();
  const sweep = options.sweeps ? createSweep(subject, names, scope, options.sweeping) : undefined;
  const evaluation: Evaluation = { total, byTag, wrong, wrongCases: 0, verdicts, failed: failures.cases, sweep, add };
  return evaluation;

  async function add(evalCase: EvalCase, index: number): Promise<void> {
    const chatTurn: ChatTurn = { text: evalCase.text, kind: evalCase.kind ?? options.kind, system: evalCase.system };
    const raw = await runDetectors(subject, chatTurn, options);
    failures.add(raw.failures);
    const findings = findingsIn(subject, raw, names);
    const outcome = outcomeOf(evalCase, findings, names);
    const faults = faultsOf(outcome, findings, scope);
    const isListed = faults !== undefined && options.errors > 0 && mayBeListed(index);
    const removed = isListed ? await removedFindings(subject, raw, names, options) : [];
    const lowered = sweep && (await runDetectors(subject, chatTurn, { ...options, isLowered: true }));

    count(total, outcome, scope);
    for (const tag of evalCase.tags) count(tallyOf(tag), outcome, scope);
    if (options.keepsVerdicts) insert(verdicts, { index, case: evalCase, outcome, findings });
    if (lowered !== undefined) sweep?.add(evalCase, index, outcome, lowered);
    if (faults === undefined) return;
    evaluation.wrongCases += 1;
    if (!isListed) return;
    insert(wrong, explainCase(evalCase, index, faults, [...findings.map(kept), ...removed]));
    wrong.length = Math.min(wrong.length, options.errors);
  }

  function mayBeListed(index: number): boolean {
    return wrong.length < options.errors || index < (wrong.at(-1)?.index ?? 0);
  }

  function tallyOf(tag: string): Tally {
    const tally = byTag.get(tag) ?? createTally();
    byTag.set(tag, tally);
    return tally;
  }
}

export function outcomeOf(evalCase: EvalCase, findings: readonly Mark[], names: NameNormalizer): Outcome {
  return {
    spans: evalCase.spans?.map((mark) => ({ ...mark, type: names(mark.type) })),
    labels: evalCase.labels && new Set(evalCase.labels.map(names)),
    findings,
    tags: evalCase.tags,
  };
}

const kept = (finding: CaseFinding): NearMiss => ({ ...finding, by: "kept" });

/** Inserts an item by its index, since cases in progress at the same time may end in another order. */
function insert<Item extends { readonly index: number }>(list: Item[], item: Item): void {
  let at = list.length;
  while (at > 0 && (list[at - 1]?.index ?? 0) > item.index) at -= 1;
  list.splice(at, 0, item);
}
