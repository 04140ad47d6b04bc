/** Report as JSON. It contains positions, never texts. Source: design decisions, section 11. */

import type { Evaluation, Verdict } from "./evaluation.ts";
import type { Mark } from "./evaluation-case.ts";
import type { CaseFinding } from "./inspect-case.ts";
import { type Figures, figuresOf, NO_COUNTS } from "./scoring.ts";
import { isMarked, SCORES, type ScoreKind, type Tally, totalOf } from "./tally.ts";
import type { SweepOutcome } from "./threshold-sweep.ts";
import type { WrongCase } from "./wrong-cases.ts";

export type FiguresByKind = Readonly<Record<ScoreKind, Figures | null>>;

/** Returns the figures by kind; null for a kind that no case marks. */
export const figuresByKind = (tally: Tally): FiguresByKind => ({
  exact: isMarked(tally, "exact") ? figuresOf(totalOf(tally.exact)) : null,
  overlap: isMarked(tally, "overlap") ? figuresOf(totalOf(tally.overlap)) : null,
  labels: isMarked(tally, "labels") ? figuresOf(totalOf(tally.labels)) : null,
});

/** Returns every type and label that is marked or found, sorted by name. */
export function typesOf(tally: Tally): readonly (readonly [string, FiguresByKind])[] {
  const names = [...new Set(SCORES.flatMap((kind) => [...tally[kind].keys()]))].sort();
  return names.map((name) => {
    const of = (kind: ScoreKind): Figures | null =>
      tally[kind].has(name) ? figuresOf(tally[kind].get(name) ?? NO_COUNTS) : null;
    return [name, { exact: of("exact"), overlap: of("overlap"), labels: of("labels") }] as const;
  });
}

export function reportOf(
  { total, byTag, wrong, verdicts }: Evaluation,
  {
    files,
    cases,
    swept,
    withVerdicts,
  }: {
    readonly files: readonly string[];
    readonly cases: number;
    readonly swept: SweepOutcome | undefined;
    readonly withVerdicts: boolean;
  },
): Readonly<Record<string, unknown>> {
  return {
    files,
    cases,
    ...figuresByKind(total),
    types: Object.fromEntries(typesOf(total)),
    slices: Object.fromEntries([...byTag].map(([tag, tally]) => [tag, figuresByKind(tally)])),
    ...(swept && {
      sweep: swept.steps.map(({ threshold, tally }) => ({ threshold, ...figuresByKind(tally) })),
      average_precision: swept.averagePrecision,
    }),
    ...(withVerdicts && { verdicts: verdicts.map(verdictOf) }),
    wrong: wrong.map(wrongOf),
  };
}

const placeOf = ({ start, end, type }: Mark): Mark => ({ start, end, type });

function verdictOf({ case: { file, line, tags }, outcome: { spans, labels }, findings }: Verdict): unknown {
  return {
    file,
    line,
    tags,
    ...(spans && { spans: spans.map(placeOf) }),
    ...(labels && { labels: [...labels] }),
    findings: findings.map(findingOf),
  };
}

const findingOf = ({ start, end, type, score, detector, recognizer, pattern }: CaseFinding) => ({
  start,
  end,
  type,
  score,
  detector,
  recognizer,
  pattern,
});

function wrongOf({ case: { file, line, tags }, missed, extra, missedLabels, extraLabels }: WrongCase): unknown {
  const near = (list: WrongCase["missed"][number]["near"]) =>
    list.map((finding) => ({ ...findingOf(finding), by: finding.by }));
  return {
    file,
    line,
    tags,
    missed: missed.map((mark) => ({ ...placeOf(mark), near: near(mark.near) })),
    extra: extra.map(findingOf),
    missed_labels: missedLabels.map((label) => ({ type: label.type, near: near(label.near) })),
    extra_labels: extraLabels.map(findingOf),
  };
}
