/**
 * Threshold sweep of the console. Runs the code of `gateway guardrails eval -sweep` on the document in force, in the
 * console's own process between frames. Each case is inspected like a request, so a turn of the event loop is as short
 * as in the data plane.
 */

import { join } from "node:path";
import { Writable } from "node:stream";
import { parseDocument } from "yaml";
import { splitWords } from "../base/index.ts";
import type { ChangedCase, JobOptions, OwnedDocument, SweepAnswer, SweepResult } from "../console/index.ts";
import { detectorThreshold } from "./console-trials/owned-document.ts";
import {
  type ChangingCase,
  casesOf,
  checkDetector,
  compileSubjectIn,
  createEvaluation,
  createNameNormalizer,
  createWarner,
  type Faults,
  failedTexts,
  figuresByKind,
  forEachParallel,
  judgeCallTexts,
  judgeNotices,
  openData,
  progressText,
  type Subject,
  type SweepOutcome,
  scopeOf,
  surveyOf,
  unmarkedWarnings,
} from "./guardrail-eval/index.ts";
import { clipArgument, type FlagsOf, parseFlags, UsageError } from "./parse-flags.ts";
import type { Io } from "./process-io.ts";
import { guardrailsEvalFlags } from "./verb-flags.ts";

const { detector, kind, types, parallel, limit, rename } = guardrailsEvalFlags;
/**
 * Flags of the verb that select the data to score. The others do not apply: the document is the one in force, and the
 * view formats the report.
 */
const SWEEP_FLAGS = { detector, kind, types, parallel, limit, rename } as const;

type Options = FlagsOf<typeof SWEEP_FLAGS>;

/** Maximum size of all texts. The texts stay in memory with their findings until the last threshold. */
const MAX_TEXT_BYTES = 64 << 20;
/** Maximum number of cases with a changing verdict that are kept; the others are only counted. */
const MAX_TURNING = 2_000;
const MAX_NOTES = 20;
/** Minimum interval between progress lines, in milliseconds, since each one is drawn and read aloud by screen readers. */
const PROGRESS_MS = 250;
/** Bytes of an excerpt: before the place where the verdict changes, and in total. */
const BEFORE_BYTES = 60;
const EXCERPT_BYTES = 240;
const MAX_TEXT_LENGTH = 160;

const refused = (problems: readonly string[]): SweepAnswer => ({ kind: "refused", problems });

/**
 * Runs the sweep on the document in force. `argumentText`: data files, preceded by flags. Rejects with an `Error` that can be
 * shown, or with the signal's reason.
 */
export async function runSweepInProcess(
  documents: readonly OwnedDocument[],
  argumentText: string,
  { signal, onProgress }: JobOptions,
  io: Io,
): Promise<SweepAnswer> {
  const split = splitWords(argumentText);
  if (split.kind === "unclosed") throw new UsageError(`a ${split.quote} is not closed`);
  const parsed = parseFlags(SWEEP_FLAGS, split.words);
  if (parsed.kind === "help")
    throw new UsageError(`the flags are ${Object.keys(SWEEP_FLAGS).join(", ")}; they come before the files`);
  const { options, positionals: files } = parsed;
  if (files.length === 0) throw new UsageError("no data file is named");
  if (files.includes("-")) throw new UsageError("the console reads the keys from stdin: name a file");
  const document = documents.find(({ text }) => hasDetectors(text));
  if (document === undefined)
    return refused(["no document in force has `guardrails` with `detectors`, so there is nothing to sweep"]);

  const notes: string[] = [];
  const note = (line: string): void => void (notes.length < MAX_NOTES && notes.push(line));
  const sweepIo: Io = { ...io, signal, isTerminal: () => false, stderr: lineWriter(onProgress) };
  onProgress("compiling the guardrails in force");
  const { source, file, text } = document;
  const ownThreshold = options.detector === undefined ? undefined : detectorThreshold(text, options.detector);
  const detector = options.detector;
  const detectorOfThreshold = ownThreshold === undefined ? undefined : detector;
  const place = { path: join(io.cwd, "deployment.yaml"), ...(file !== undefined && { path: file }) };
  const compiled = await compileSubjectIn({ ...place, name: file ?? `source ${source}`, text }, sweepIo, {
    sweeps: true,
    detectorOfThreshold,
  });
  if (compiled.kind === "refused") return refused(compiled.problems);
  const { subject } = compiled;
  try {
    checkJudges(subject, options);
    const sweepOptions = {
      options,
      files,
      note,
      onProgress,
      detectorOfThreshold,
      inForce: ownThreshold?.threshold ?? subject.scoreThreshold,
    };
    const result = await runSweep(subject, sweepOptions, sweepIo);
    for (const line of judgeCallTexts(subject)) note(line);
    return { kind: "done", result: { ...result, source, notes, detector, isOwnThreshold: ownThreshold !== undefined } };
  } finally {
    await subject.close();
  }
}

function hasDetectors(text: string): boolean {
  const detectors: unknown = parseDocument(text).getIn(["guardrails", "detectors"]);
  return detectors !== undefined && detectors !== null;
}

/** Throws `UsageError` if a judge model would be called without being named, since it costs money for each text. */
function checkJudges(subject: Subject, options: Options): void {
  const names = subject.ensemble.members.map(({ name }) => name);
  checkDetector(options.detector, names);
  const [notice] = options.detector === undefined ? judgeNotices(subject) : [];
  if (notice !== undefined) {
    throw new UsageError(
      `${notice.replace(/^note: /, "")}; name the detectors that are to be swept, one at a time: -detector NAME`,
    );
  }
}

interface SweepRequest {
  readonly options: Options;
  readonly files: readonly string[];
  readonly note: (text: string) => void;
  readonly onProgress: JobOptions["onProgress"];
  /** Detector whose own threshold is swept; `undefined` to sweep `score_threshold`. */
  readonly detectorOfThreshold: string | undefined;
  /** Current value of the swept threshold in the document. */
  readonly inForce: number;
}

async function runSweep(
  subject: Subject,
  { options, files, note, onProgress, detectorOfThreshold, inForce }: SweepRequest,
  io: Io,
): Promise<Omit<SweepResult, "source" | "notes" | "detector" | "isOwnThreshold">> {
  const { signal } = io;
  const wanted = (options.types ?? "").split(",").flatMap((name) => name.trim() || []);
  const names = createNameNormalizer(options.rename, wanted);
  onProgress("checking the data");
  const data = await openData(io, files);
  const types = [...new Set(wanted.map(names))];
  const survey = await surveyOf(casesOf(data, options.limit, createWarner(note)), names);
  signal.throwIfAborted();
  if (survey.cases === 0) throw new UsageError(`there are no cases in ${files.map(clipArgument).join(", ")}`);
  if (survey.textBytes > MAX_TEXT_BYTES) {
    throw new UsageError(
      `the texts are over ${MAX_TEXT_BYTES >> 20} MiB: take fewer with -limit, or run 'gateway guardrails eval -sweep'`,
    );
  }
  for (const warning of unmarkedWarnings(survey, types)) note(`warning: ${warning}`);
  const evaluation = createEvaluation({
    subject,
    names,
    scope: scopeOf(survey, types),
    kind: options.kind,
    detector: options.detector,
    errors: 0,
    keepsVerdicts: false,
    sweeps: true,
    sweeping: { extraThresholds: [inForce], maxChanges: MAX_TURNING, detectorOfThreshold },
    signal,
  });
  const startedAt = io.now();
  const atIntervals = atMostEvery(PROGRESS_MS, io);
  let done = 0;
  const cases = await forEachParallel(
    casesOf(data, options.limit, () => undefined),
    options.parallel,
    signal,
    async (one, index) => {
      await evaluation.add(one, index);
      done += 1;
      atIntervals(() => onProgress(progressText(done, survey.cases, "cases", io.now() - startedAt)));
    },
  );
  signal.throwIfAborted();
  onProgress(`scored ${cases} cases; counting them at every threshold`);
  const found = await evaluation.sweep?.finish(signal);
  signal.throwIfAborted();
  for (const failed of failedTexts(evaluation.failed, cases)) note(`! ${failed}`);
  return { files, cases, inForce, ...figuresOf(found) };
}

function figuresOf(
  found: SweepOutcome | undefined,
): Pick<SweepResult, "steps" | "averagePrecision" | "changedCases" | "changedCount"> {
  const { wrongBits: wrong = [], cases = [], total: all = 0 } = found?.changes ?? {};
  return {
    steps: (found?.steps ?? []).map(({ threshold, isQuantile, tally }, at) => ({
      threshold,
      isQuantile,
      figures: figuresByKind(tally),
      wrong: wrong[at] ?? new Uint8Array(),
    })),
    averagePrecision: found?.averagePrecision ?? { exact: null, overlap: null, labels: null },
    changedCases: cases.map(changedCaseOf).sort((a, b) => a.index - b.index),
    changedCount: all,
  };
}

function changedCaseOf({ index, case: { file, line, text }, verdicts }: ChangingCase): ChangedCase {
  const starts = verdicts.flatMap(({ faults }) => [...(faults?.missed ?? []), ...(faults?.extra ?? [])]);
  const first = Math.min(...starts.map(({ start }) => start));
  return {
    index,
    file,
    line,
    excerpt: excerptOf(text, Number.isFinite(first) ? first : 0),
    sides: verdicts.map(({ from, faults }) => ({ from, fault: faults === undefined ? "" : faultText(faults) })),
  };
}

/** Returns the part of the text around byte `at` of its UTF-8 form, cut between characters. */
function excerptOf(text: string, at: number): string {
  const bytes = Buffer.from(text, "utf8");
  if (bytes.length <= EXCERPT_BYTES) return text;
  const from = Math.max(0, Math.min(at - BEFORE_BYTES, bytes.length - EXCERPT_BYTES));
  const cut = bytes.subarray(from, from + EXCERPT_BYTES).toString("utf8");
  const whole = cut.replace(/^\ufffd+|\ufffd+$/gu, "");
  return `${from > 0 ? "…" : ""}${whole}${from + EXCERPT_BYTES < bytes.length ? "…" : ""}`;
}

/** Describes the faults, for example `misses EMAIL_ADDRESS, finds PERSON 0.62`. */
function faultText({ missed, missedLabels, extra, extraLabels }: Faults): string {
  const names = [...missed.map(({ type }) => type), ...missedLabels];
  const found = [...extra, ...extraLabels].map(({ type, score }) => `${type} ${score.toFixed(2)}`);
  const text = [
    ...(names.length === 0 ? [] : [`misses ${names.join(", ")}`]),
    ...(found.length === 0 ? [] : [`finds ${found.join(", ")}`]),
  ].join("; ");
  return text.length <= MAX_TEXT_LENGTH ? text : `${text.slice(0, MAX_TEXT_LENGTH - 1)}…`;
}

/** Returns a function that runs its argument at most once every `ms` milliseconds, and otherwise skips it. */
function atMostEvery(ms: number, { now }: Pick<Io, "now">): (work: () => void) => void {
  let last = Number.NEGATIVE_INFINITY;
  return (work) => {
    if (now() - last < ms) return;
    last = now();
    work();
  };
}

/** Returns a stream that passes each line written to it to `onLine`. */
const lineWriter = (onLine: (line: string) => void): Writable =>
  new Writable({
    decodeStrings: false,
    write(chunk, _, done) {
      const line = String(chunk).trim();
      if (line !== "") onLine(line);
      done();
    },
  });
