/** The scanner: compiles recognizers, and searches a text for all their matches. */

import { type Finding, MAX_RAW_FINDINGS, type Trace, tooManyFindings } from "../../core/guardrails/index.ts";
import { CONTEXT_BOOST, CONTEXT_FLOOR, ContextReader, type ContextWords, contextWords } from "./context.ts";
import { withoutContained } from "./duplicates.ts";
import type { Engine } from "./engines.ts";
import { keywordSearch } from "./keywords.ts";
import type { Search } from "./match-search.ts";
import { createRunScanner } from "./runs.ts";
import { shapeTree } from "./shape-patterns.ts";
import { type View, viewsOf } from "./text-view.ts";
import type { Pattern, Proof, Recognizer, SearchPattern, TextPattern } from "./types.ts";

interface ScanOptions {
  readonly engine: Engine;
  readonly usesContext: boolean;
  /** True to report instead the matches that a check rejects. */
  readonly wantsDisproved?: boolean;
}

/**
 * Maximum number of matches in a text. A text with more is refused at once: it would have too many findings in any case, since
 * fewer than half of the matches are dropped as parts of others, and each takes memory until then.
 */
const MAX_CANDIDATES = 2 * MAX_RAW_FINDINGS;

/**
 * Function that returns the findings of a text, ascending by start, in linear time. Throws `excess` for a text with too many
 * matches.
 */
export type Scan = (text: string) => readonly Finding[];

interface Rule {
  readonly recognizer: Recognizer;
  readonly pattern: Pattern;
  readonly context: ContextWords;
}

interface Candidate {
  readonly rule: number;
  readonly start: number;
  end: number;
  proof: Proof;
  readonly name: string | undefined;
}

type Gather = (rule: number, start: number, end: number, proof: Proof, name?: string) => void;

/** Compiles a scan. Throws on an invalid shape or expression. */
export function compileScan(recognizers: readonly Recognizer[], options: ScanOptions): Scan {
  const { wantsDisproved = false } = options;
  const rules: Rule[] = recognizers.flatMap((recognizer) => {
    const context = options.usesContext ? contextWords(recognizer.context) : [];
    return recognizer.patterns.map((pattern) => ({ recognizer, pattern, context }));
  });
  const scanRuns = createRunScanner(
    shapeTree(rules.flatMap(({ pattern }, rule) => (pattern.kind === "shape" ? [{ rule, pattern }] : []))),
  );
  const searches = rules.map(({ pattern }, rule) => searchOf(rule, pattern, options.engine));
  const searched = rules.flatMap(({ pattern }, rule) => (pattern.kind === "shape" ? [] : [{ rule, pattern }]));
  const always = searched.filter(({ pattern }) => pattern.keywords.length === 0).map(({ rule }) => rule);
  const keyed = searched.filter(({ pattern }) => pattern.keywords.length > 0).map(({ rule }) => rule);
  const markKeywords = keywordSearch(
    searched.flatMap(({ rule, pattern }) => pattern.keywords.map((word) => ({ word, owner: rule }))),
  );
  const hits = new Uint8Array(rules.length);
  const scanView = (view: View): readonly Finding[] => {
    const candidates: Candidate[] = [];
    const gather = gatherer(candidates, rules.length, wantsDisproved);
    scanRuns(view.text, gather);
    hits.fill(0);
    markKeywords(view.text, hits);
    for (const rule of always) searches[rule]!(view.text, gather);
    for (const rule of keyed) if (hits[rule] === 1) searches[rule]!(view.text, gather);
    if (candidates.length === 0) return [];
    candidates.sort((one, other) => one.start - other.start);
    const context = new ContextReader(view.text);
    return candidates.map((candidate) => {
      const { recognizer, pattern, context: words } = rules[candidate.rule]!;
      const trace = traceOf(pattern, candidate, context.wordBefore(candidate.start, words));
      return {
        start: view.startOf(candidate.start),
        end: view.endOf(candidate.end),
        category: recognizer.category,
        label: recognizer.entity,
        score: trace.scoreBase + trace.scoreContext,
        recognizer: recognizer.name,
        trace,
      } satisfies Finding;
    });
  };
  return (text) => withoutContained(viewsOf(text).flatMap(scanView));
}

/**
 * Returns a function that keeps the leftmost, disjoint matches of each rule; of those at one start the longest, which
 * comes last.
 */
function gatherer(candidates: Candidate[], rules: number, wantsDisproved: boolean): Gather {
  const last: (Candidate | undefined)[] = new Array(rules);
  return (rule, start, end, proof, name) => {
    if ((proof === false) !== wantsDisproved) return;
    const before = last[rule];
    if (before?.start === start) {
      before.end = Math.max(before.end, end);
      before.proof = proof;
      return;
    }
    if (before !== undefined && start < before.end) return;
    if (candidates.length === MAX_CANDIDATES) throw tooManyFindings();
    const candidate: Candidate = { rule, start, end, proof, name };
    last[rule] = candidate;
    candidates.push(candidate);
  };
}

function searchOf(rule: number, pattern: Pattern, engine: Engine): (text: string, gather: Gather) => void {
  if (pattern.kind === "shape") return () => {};
  if (pattern.kind === "search") return searchByCode(rule, pattern);
  return searchByText(rule, pattern, engine.builtIn(pattern.regex, pattern.isCaseSensitive === true));
}

function searchByCode(rule: number, { search }: SearchPattern): (text: string, gather: Gather) => void {
  return (text, gather) => search(text, (start, end, proof, name) => gather(rule, start, end, proof, name));
}

function searchByText(
  rule: number,
  { prefilter, validate }: TextPattern,
  search: Search,
): (text: string, gather: Gather) => void {
  return (text, gather) => {
    if (prefilter?.test(text) === false) return;
    search(text, (start, end) => {
      gather(rule, start, end, validate?.(text.slice(start, end), { text, start, end }));
    });
  };
}

function traceOf(pattern: Pattern, { proof, name }: Candidate, contextWord: string | undefined): Trace {
  const scoreBase = proof === true ? 1 : pattern.score;
  const raised =
    contextWord === undefined ? scoreBase : Math.min(1, Math.max(scoreBase + CONTEXT_BOOST, CONTEXT_FLOOR));
  return { pattern: name ?? pattern.name, scoreBase, validated: proof, contextWord, scoreContext: raised - scoreBase };
}
