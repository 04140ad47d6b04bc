/** Inspects rows with the same text in several languages, and measures how far each language agrees with the reference. */

import { escapeControls } from "../../base/index.ts";
import { tableLines } from "../table-text.ts";
import { type EvaluationOptions, outcomeOf } from "./evaluation.ts";
import { countFailures, type FailedCases } from "./failure-counts.ts";
import { findingsIn, runDetectors } from "./inspect-case.ts";
import { type Agreement, compareRow, type TypeCounts } from "./invariance.ts";
import type { Row } from "./language-rows.ts";
import { countText, figure } from "./report-text.ts";
import { figuresOf } from "./scoring.ts";
import { count, createTally, isMarked, type Tally, totalOf } from "./tally.ts";

interface DisagreeingText {
  readonly index: number;
  readonly file: string;
  readonly line: number;
  readonly language: string;
  /** Types found in the reference and not in the language, and the reverse, with their counts. */
  readonly lost: TypeCounts;
  readonly gained: TypeCounts;
}

interface LanguageComparison {
  readonly byLanguage: ReadonlyMap<string, Agreement>;
  readonly tallies: ReadonlyMap<string, Tally>;
  /** Number of rows without a text of the reference. */
  skipped: number;
  /** First rows that do not agree, in the order of the data. */
  readonly disagreements: readonly DisagreeingText[];
  readonly failed: FailedCases;
  readonly add: (row: Row, index: number) => Promise<void>;
}

export function createLanguageComparison(
  { subject, names, scope, kind, detector, errors, signal }: EvaluationOptions,
  reference: string,
): LanguageComparison {
  const byLanguage = new Map<string, Agreement>();
  const tallies = new Map<string, Tally>();
  const disagreements: DisagreeingText[] = [];
  const failures = countFailures();
  const languages: LanguageComparison = { byLanguage, tallies, skipped: 0, disagreements, failed: failures.cases, add };
  return languages;

  async function add(row: Row, index: number): Promise<void> {
    const typeCountsByLanguage = new Map<string, TypeCounts>();
    for (const [language, evalCase] of row.cases) {
      const raw = await runDetectors(subject, { text: evalCase.text, kind, system: "" }, { detector, signal });
      failures.add(raw.failures);
      const findings = findingsIn(subject, raw, names);
      const isLabelled = evalCase.labels !== undefined && evalCase.spans === undefined;
      const isScored = isLabelled ? scope.labels : scope.types;
      typeCountsByLanguage.set(language, countTypes(findings.map(({ type }) => type).filter(isScored), isLabelled));
      const tally = tallies.get(language) ?? createTally();
      tallies.set(language, tally);
      count(tally, outcomeOf(evalCase, findings, names), scope);
    }
    if (!compareRow(byLanguage, typeCountsByLanguage, reference)) {
      languages.skipped += 1;
      return;
    }
    const referenceCounts: TypeCounts = typeCountsByLanguage.get(reference) ?? new Map();
    for (const [language, typeCounts] of typeCountsByLanguage) {
      const lost = subtractCounts(referenceCounts, typeCounts);
      const gained = subtractCounts(typeCounts, referenceCounts);
      if (lost.size + gained.size > 0)
        disagreements.push({ index, file: row.file, line: row.line, language, lost, gained });
    }
    disagreements.sort((a, b) => a.index - b.index);
    disagreements.length = Math.min(disagreements.length, errors);
  }
}

/** Counts the types. Labels form a set, so each counts once. */
function countTypes(types: readonly string[], isSet: boolean): TypeCounts {
  const typeCounts = new Map<string, number>();
  for (const type of types) typeCounts.set(type, isSet ? 1 : (typeCounts.get(type) ?? 0) + 1);
  return typeCounts;
}

function subtractCounts(whole: TypeCounts, part: TypeCounts): TypeCounts {
  const rest = [...whole].map(([type, times]): [string, number] => [type, times - (part.get(type) ?? 0)]);
  return new Map(rest.filter(([, times]) => times > 0));
}

interface ReportFacts {
  readonly files: readonly string[];
  readonly rows: number;
  readonly reference: string;
}

const agreementShare = ({ agreed, rows }: Agreement): number | null => (rows === 0 ? null : agreed / rows);

export function languagesReport(languages: LanguageComparison, facts: ReportFacts): Readonly<Record<string, unknown>> {
  const { byLanguage, tallies, skipped, disagreements } = languages;
  return {
    ...facts,
    skipped,
    languages: Object.fromEntries(
      [...tallies].map(([language, tally]) => {
        const own = byLanguage.get(language);
        const { rows, agreed, emptyAgreed, lost, gained } = own ?? NONE;
        const agreement = own && {
          rows,
          agreed,
          agreement: agreementShare(own),
          empty_agree: emptyAgreed,
          lost,
          gained,
        };
        const figures = (kind: "exact" | "overlap" | "labels") =>
          isMarked(tally, kind) ? figuresOf(totalOf(tally[kind])) : null;
        const scores = { exact: figures("exact"), overlap: figures("overlap"), labels: figures("labels") };
        return [language, { ...agreement, ...scores }];
      }),
    ),
    wrong: disagreements.map(({ file, line, language, lost, gained }) => ({
      file,
      line,
      language,
      lost: Object.fromEntries(lost),
      gained: Object.fromEntries(gained),
    })),
  };
}

const NONE: Agreement = { rows: 0, agreed: 0, emptyAgreed: 0, lost: 0, gained: 0 };

/** Yields the lines of the report, each with its line end. */
export function* languagesLines(
  languages: LanguageComparison,
  facts: ReportFacts,
  width: number | undefined,
): Generator<string> {
  const { byLanguage, tallies, skipped, disagreements } = languages;
  const { rows, files, reference } = facts;
  const skippedText = skipped === 0 ? "" : `; ${skipped} skipped, because they have no text in it`;
  yield `${countText(rows, "row")} of ${countText(files.length, "file")}, read against ${escapeControls(reference)}${skippedText}\n\n`;
  const numeric = ["rows", "agreed", "share", "both empty", "lost", "gained", "precision", "recall", "F1"];
  const columns = [{ name: "language", isNumeric: false }, ...numeric.map((name) => ({ name, isNumeric: true }))];
  const table = [...tallies].map(([language, tally]) => {
    const own = byLanguage.get(language);
    const agreement =
      own === undefined
        ? ["-", "-", "-", "-", "-", "-"]
        : [own.rows, own.agreed, figure(agreementShare(own)), own.emptyAgreed, own.lost, own.gained].map(String);
    const kind = isMarked(tally, "exact") ? "exact" : "labels";
    const { precision, recall, f1 } = figuresOf(totalOf(tally[kind]));
    return [language, ...agreement, ...[precision, recall, f1].map(figure)];
  });
  yield* tableLines(columns, table, width);
  if (disagreements.length > 0) yield "\nRows that do not agree:\n";
  for (const { file, line, language, lost, gained } of disagreements) {
    const changesText = [...countTexts("lost", lost), ...countTexts("gained", gained)].join(", ");
    yield `${escapeControls(`${file}:${line} ${language}: ${changesText}`)}\n`;
  }
}

const countTexts = (word: string, typeCounts: TypeCounts): readonly string[] =>
  [...typeCounts].map(([type, times]) => `${word} ${type}${times === 1 ? "" : ` (${times})`}`);
