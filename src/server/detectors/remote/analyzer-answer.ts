/**
 * Parses an analyzer's answer to `/analyze` strictly, since findings would be missed otherwise. Source:
 * presidio-analyze reference, "Response".
 */
import {
  type Category,
  DetectorError,
  type Finding,
  MAX_RAW_FINDINGS,
  tooManyFindings,
} from "../../core/guardrails/index.ts";
import { isOffsetUnit, type OffsetUnit, positionsOf } from "./places.ts";

export interface AnswerTerms {
  readonly category: Category;
  readonly offsets: OffsetUnit;
  /** Entity types to accept; `undefined` for all. */
  readonly entities: ReadonlySet<string> | undefined;
  /** Entity types seen so far. Their number is limited, since they become names of series. */
  readonly seen: Set<string>;
}

/** Form of a type's name. Other names are refused, because parts of the text could leak through them. */
const ENTITY_TYPE = /^[A-Za-z][A-Za-z0-9_]{0,63}$/;
const MAX_TYPES = 512;

interface Result {
  readonly label: string;
  readonly score: number;
  readonly start: number;
  readonly end: number;
  readonly unit: OffsetUnit;
}

/**
 * Returns findings ascending by start, without white space at their ends. `text` is the text as sent, well-formed.
 * Throws a `DetectorError`.
 */
export function findingsIn(body: Buffer, text: string, terms: AnswerTerms): readonly Finding[] {
  const results = resultsIn(body, terms);
  const byUnit = new Map<OffsetUnit, Map<number, number> | undefined>();
  for (const unit of new Set(results.map((result) => result.unit))) {
    const own = results.filter((result) => result.unit === unit);
    const places = positionsOf(
      text,
      own.flatMap(({ start, end }) => [start, end]),
      unit,
    );
    if (places === undefined) {
      throw wrong(`an offset that does not fall between two characters of the text, counted in \`${unit}\``);
    }
    byUnit.set(unit, places);
  }
  const findings = results.flatMap(({ label, score, start: from, end: to, unit }) => {
    const places = byUnit.get(unit);
    const [start, end] = trimmed(text, places?.get(from) as number, places?.get(to) as number);
    if (start >= end || (terms.entities !== undefined && !terms.entities.has(label))) return [];
    return [{ start, end, category: terms.category, label, score, recognizer: "", trace: undefined } satisfies Finding];
  });
  return findings.sort((a, b) => a.start - b.start || a.end - b.end);
}

function resultsIn(body: Buffer, { offsets, seen, entities }: AnswerTerms): readonly Result[] {
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(body));
  } catch {
    throw wrong("what is not JSON");
  }
  if (!Array.isArray(value)) throw wrong("JSON that is not a list of findings");
  if (value.length > MAX_RAW_FINDINGS) throw tooManyFindings();
  return value.map((one: unknown): Result => {
    if (typeof one !== "object" || one === null || Array.isArray(one)) throw wrong("a finding that is not an object");
    const { entity_type: label, start, end, score, recognition_metadata: metadata } = one as Record<string, unknown>;
    if (typeof label !== "string" || !ENTITY_TYPE.test(label)) throw wrong("a finding without a proper `entity_type`");
    if (!Number.isSafeInteger(start) || !Number.isSafeInteger(end) || (start as number) < 0) {
      throw wrong("a finding without a proper `start` and `end`");
    }
    if ((start as number) >= (end as number)) throw wrong("a finding that ends before it begins");
    if (typeof score !== "number" || !Number.isFinite(score)) throw wrong("a finding without a proper `score`");
    if (entities?.has(label) !== false) seen.add(label);
    if (seen.size > MAX_TYPES) throw wrong(`more than ${MAX_TYPES} entity types`);
    const unit = unitIn(metadata) ?? offsets;
    return { label, start: start as number, end: end as number, score: Math.min(1, Math.max(0, score)), unit };
  });
}

/** Returns the unit of offsets, which some servers state for each finding. */
function unitIn(metadata: unknown): OffsetUnit | undefined {
  if (typeof metadata !== "object" || metadata === null) return undefined;
  const unit = (metadata as Readonly<Record<string, unknown>>)["gateway.offsets"];
  if (unit === undefined) return undefined;
  if (!isOffsetUnit(unit)) throw wrong("a `gateway.offsets` that is not `chars`, `bytes` or `utf16`");
  return unit;
}

const SPACE = /[\p{White_Space}\u200b-\u200d\ufeff]/u;

function trimmed(text: string, start: number, end: number): readonly [start: number, end: number] {
  let [from, to] = [start, end];
  while (from < to && SPACE.test(text[from] as string)) from++;
  while (to > from && SPACE.test(text[to - 1] as string)) to--;
  return [from, to];
}

const wrong = (what: string): DetectorError => new DetectorError("failed", `its server answered ${what}`);
