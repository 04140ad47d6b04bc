/** Inspects rows with the same text in several languages, and measures how far each language agrees with the reference. */

import { escapeControls } from "../../base/index.ts";
import { tableLines } from "../table-text.ts";
import { type EvaluationOptions, outcomeOf } from "./evaluation.ts";
import { countFailures, type FailedCases } from "./failure-counts.ts";
import { askDetectors, findingsIn } from "./inspect.ts";
import { type Agreement, type Bag, compareRow } from "./invariance.ts";
import { counted, figure } from "./report-text.ts";
import type { Row } from "./rows.ts";
import { figuresOf } from "./scoring.ts";
import { count, createTally, isMarked, type Tally, totalOf } from "./tally.ts";

interface Apart {
  readonly index: number;
  readonly file: string;
  readonly line: number;
  readonly language: string;
  /** Types found in the reference and not in the language, and the reverse, with their counts. */
  readonly lost: Bag;
  readonly gained: Bag;
}

interface Languages {
  readonly byLanguage: ReadonlyMap<string, Agreement>;
  readonly tallies: ReadonlyMap<string, Tally>;
  /** Number of rows without a text of the reference. */
  skipped: number;
  /** First rows that do not agree, in the order of the data. */
  readonly apart: readonly Apart[];
  readonly failed: FailedCases;
  readonly add: (row: Row, index: number) => Promise<void>;
}

export function createLanguages(
  { subject, names, scope, kind, detector, errors, signal }: EvaluationOptions,
  reference: string,
): Languages {
  const byLanguage = new Map<string, Agreement>();
  const tallies = new Map<string, Tally>();
  const apart: Apart[] = [];
  const failures = countFailures();
  const languages: Languages = { byLanguage, tallies, skipped: 0, apart, failed: failures.cases, add };
  return languages;

  async function add(row: Row, index: number): Promise<void> {
    const bags = new Map<string, Bag>();
    for (const [language, one] of row.cases) {
      const raw = await askDetectors(subject, { text: one.text, kind, system: "" }, { detector, signal });
      failures.add(raw.failures);
      const findings = findingsIn(subject, raw, names);
      const isLabelled = one.labels !== undefined && one.spans === undefined;
      const isScored = isLabelled ? scope.labels : scope.types;
      bags.set(language, bagOf(findings.map(({ type }) => type).filter(isScored), isLabelled));
      const tally = tallies.get(language) ?? createTally();
      tallies.set(language, tally);
      count(tally, outcomeOf(one, findings, names), scope);
    }
    if (!compareRow(byLanguage, bags, reference)) {
      languages.skipped += 1;
      return;
    }
    const wanted: Bag = bags.get(reference) ?? new Map();
    for (const [language, bag] of bags) {
      const lost = without(wanted, bag);
      const gained = without(bag, wanted);
      if (lost.size + gained.size > 0) apart.push({ index, file: row.file, line: row.line, language, lost, gained });
    }
    apart.sort((a, b) => a.index - b.index);
    apart.length = Math.min(apart.length, errors);
  }
}

/** Counts the types. Labels form a set, so each counts once. */
function bagOf(types: readonly string[], isSet: boolean): Bag {
  const bag = new Map<string, number>();
  for (const type of types) bag.set(type, isSet ? 1 : (bag.get(type) ?? 0) + 1);
  return bag;
}

function without(whole: Bag, part: Bag): Bag {
  const rest = [...whole].map(([type, times]): [string, number] => [type, times - (part.get(type) ?? 0)]);
  return new Map(rest.filter(([, times]) => times > 0));
}

interface Facts {
  readonly files: readonly string[];
  readonly rows: number;
  readonly reference: string;
}

const share = ({ agreed, rows }: Agreement): number | null => (rows === 0 ? null : agreed / rows);

export function languagesReport(languages: Languages, facts: Facts): Readonly<Record<string, unknown>> {
  const { byLanguage, tallies, skipped, apart } = languages;
  return {
    ...facts,
    skipped,
    languages: Object.fromEntries(
      [...tallies].map(([language, tally]) => {
        const own = byLanguage.get(language);
        const { rows, agreed, emptyAgreed, lost, gained } = own ?? NONE;
        const agreement = own && { rows, agreed, agreement: share(own), empty_agree: emptyAgreed, lost, gained };
        const figures = (kind: "exact" | "overlap" | "labels") =>
          isMarked(tally, kind) ? figuresOf(totalOf(tally[kind])) : null;
        const scores = { exact: figures("exact"), overlap: figures("overlap"), labels: figures("labels") };
        return [language, { ...agreement, ...scores }];
      }),
    ),
    wrong: apart.map(({ file, line, language, lost, gained }) => ({
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
export function* languagesLines(languages: Languages, facts: Facts, width: number | undefined): Generator<string> {
  const { byLanguage, tallies, skipped, apart } = languages;
  const { rows, files, reference } = facts;
  const aside = skipped === 0 ? "" : `; ${skipped} without a text of it`;
  yield `${counted(rows, "row")} of ${counted(files.length, "file")}, read against ${escapeControls(reference)}${aside}\n\n`;
  const numeric = ["rows", "agreed", "share", "both empty", "lost", "gained", "precision", "recall", "F1"];
  const columns = [{ name: "language", isNumeric: false }, ...numeric.map((name) => ({ name, isNumeric: true }))];
  const table = [...tallies].map(([language, tally]) => {
    const own = byLanguage.get(language);
    const agreement =
      own === undefined
        ? ["-", "-", "-", "-", "-", "-"]
        : [own.rows, own.agreed, figure(share(own)), own.emptyAgreed, own.lost, own.gained].map(String);
    const kind = isMarked(tally, "exact") ? "exact" : "labels";
    const { precision, recall, f1 } = figuresOf(totalOf(tally[kind]));
    return [language, ...agreement, ...[precision, recall, f1].map(figure)];
  });
  yield* tableLines(columns, table, width);
  if (apart.length > 0) yield "\nRows that do not agree:\n";
  for (const { file, line, language, lost, gained } of apart) {
    const words = [...bagTexts("lost", lost), ...bagTexts("gained", gained)].join(", ");
    yield `${escapeControls(`${file}:${line} ${language}: ${words}`)}\n`;
  }
}

const bagTexts = (word: string, bag: Bag): readonly string[] =>
  [...bag].map(([type, times]) => `${word} ${type}${times === 1 ? "" : ` (${times})`}`);
