/**
 * Computes upper bounds of a request's token usage from its bytes, before it is sent. Source: cluster reference, 7.2 rule 1.
 *
 * Input: a text has at most as many tokens as bytes, and media are counted by the kind that their bytes show
 * (`media-bounds.ts`). Content that a request only references by id (a stored file, an earlier response) is not included.
 * Output: the number of tokens that the request allows, for each answer that it asks for.
 *
 * Only numbers are parsed. Bytes that are not JSON get bounds too, never an error.
 */
import { countValues, type MemberSearch, topLevelValues } from "./json/json-depth.ts";
import { skipSpace } from "./json/json-scan.ts";
import { formTokenBound, jsonTokenBound } from "./media-bounds.ts";
import type { Route } from "./routes/routes.ts";
import { MAX_COUNT } from "./usage/usage-normalize.ts";

/** Output bound, in tokens, that is assumed for a request that sets none: the default maximum of most models. */
export const DEFAULT_OUTPUT_BOUND = 16_384;

export interface RequestBounds {
  readonly input: number;
  readonly output: number;
  /** Whether the request, or its route, bounds the output. */
  readonly hasOutputLimit: boolean;
}

/** Routes whose answers are numbers and labels, for which providers count no tokens. */
const ROUTES_WITHOUT_OUTPUT: ReadonlySet<string> = new Set(["embeddings", "moderations", "rerank"]);

const OUTPUT_LIMIT: MemberSearch = {
  names: ["max_tokens", "max_completion_tokens", "max_output_tokens"],
  ending: '_tokens"',
};
/** Member name in the legacy completions of the messages dialect. */
const COMPLETE_OUTPUT_LIMIT: MemberSearch = { names: ["max_tokens_to_sample"], ending: '_to_sample"' };
/** Members with the number of answers: those to return, and those to generate and choose from. */
const ANSWER_COUNT: MemberSearch = { names: ["n"], ending: '"n"' };
const CANDIDATE_COUNT: MemberSearch = { names: ["best_of"], ending: '_of"' };
const PROMPT: MemberSearch = { names: ["prompt"], ending: '"prompt"' };

/** Routes that accept `n`; elsewhere it is not searched, since the search dominates the cost of a long body. */
const ROUTES_WITH_ANSWER_COUNT: ReadonlySet<string> = new Set([
  "chat_completions",
  "completions",
  "images_generations",
  "images_edits",
  "images_variations",
  "compat_other",
]);

const OPEN_ARRAY = 0x5b;
const QUOTE = 0x22;

/**
 * Maximum size of a body that is converted to a text before it is searched: searching a short text several times is faster
 * than searching its bytes. Longer bodies may contain media.
 */
const MAX_SEARCHED_TEXT = 8 << 10;

/** Returns a function that returns false only if the body certainly lacks the text. */
function createSearch(plain: Buffer): (text: string) => boolean {
  if (plain.length > MAX_SEARCHED_TEXT) return () => true;
  const whole = plain.toString("latin1");
  return (text) => whole.includes(text);
}

/** Returns the bounds of a request. `isJson` is true if `plain` is a JSON object that `scanObject` found valid. */
export function tokenBounds(plain: Buffer, isJson: boolean, route: Route): RequestBounds {
  if (route.usage === "none") return { input: 0, output: 0, hasOutputLimit: true };
  return isJson ? jsonBounds(plain, route) : formBounds(plain, route);
}

function formBounds(plain: Buffer, route: Route): RequestBounds {
  const input = formTokenBound(plain);
  return ROUTES_WITHOUT_OUTPUT.has(route.name)
    ? { input, output: 0, hasOutputLimit: true }
    : { input, output: DEFAULT_OUTPUT_BOUND, hasOutputLimit: false };
}

function jsonBounds(plain: Buffer, route: Route): RequestBounds {
  const contains = createSearch(plain);
  const input = jsonTokenBound(plain, route.dialect === "messages", contains);
  if (ROUTES_WITHOUT_OUTPUT.has(route.name)) return { input, output: 0, hasOutputLimit: true };
  const wanted = route.name === "complete" ? COMPLETE_OUTPUT_LIMIT : OUTPUT_LIMIT;
  const stated = contains(wanted.ending) ? largestValue(plain, wanted) : undefined;
  const output = (stated ?? DEFAULT_OUTPUT_BOUND) * countAnswers(plain, route, contains);
  return { input, output: Math.min(output, MAX_COUNT), hasOutputLimit: stated !== undefined };
}

/** Returns the number of answers that the request asks for, each up to the output bound. */
function countAnswers(plain: Buffer, { name }: Route, contains: (text: string) => boolean): number {
  if (!ROUTES_WITH_ANSWER_COUNT.has(name)) return 1;
  const requested = contains(ANSWER_COUNT.ending) ? (largestValue(plain, ANSWER_COUNT) ?? 1) : 1;
  if (name !== "completions") return Math.max(1, requested);
  return Math.max(1, requested, largestValue(plain, CANDIDATE_COUNT) ?? 1) * countPrompts(plain);
}

/** Returns the largest count among the top-level members of these names. */
function largestValue(plain: Buffer, wanted: MemberSearch): number | undefined {
  let found: number | undefined;
  for (const at of topLevelValues(plain, wanted)) {
    const [digits] = /^\d+(?![\d.eE])/.exec(plain.toString("latin1", at, at + 24)) ?? [];
    const count = digits === undefined ? Number.NaN : Number(digits);
    if (count <= MAX_COUNT && (found === undefined || count > found)) found = count;
  }
  return found;
}

/** Returns the number of prompts in a legacy completion; each gets its own answer. A list of numbers is one prompt in tokens. */
function countPrompts(plain: Buffer): number {
  let most = 1;
  for (const at of topLevelValues(plain, PROMPT)) {
    if (plain[at] !== OPEN_ARRAY) continue;
    const first = plain[skipSpace(plain, at + 1)];
    if (first === QUOTE || first === OPEN_ARRAY) most = Math.max(most, countValues(plain, at));
  }
  return most;
}
