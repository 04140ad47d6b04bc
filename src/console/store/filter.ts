/**
 * The language of filters: text found without case, `/pattern/` a regular expression without case, `!` before either
 * turns it round. Source: operator console reference, B2.
 *
 * Patterns run where keys are handled, over every row, in an engine that backtracks. So those are refused that can take
 * time out of proportion: repetition or choice inside a repetition, a repetition after one that may take the same text,
 * more than two without an end, many choices, references back and looks around. It refuses harmless ones too, and a costly
 * one looks only at the start of a long row; that is the price.
 */

export type Filter =
  | { readonly kind: "none" }
  | { readonly kind: "match"; readonly isInverted: boolean; test(text: string): boolean }
  /** It narrows nothing; `words` are for the operator. */
  | { readonly kind: "wrong"; readonly words: string };

/** UTF-16 units. */
const MAX_PATTERN_LENGTH = 200;
const MAX_UNBOUNDED = 2;
/** Steps that a pattern may take at the worst of rows: a few milliseconds of them, where usual rows take some hundred. */
const MAX_STEPS = 4_000_000;
/** A pattern that could afford no more of a row than this is refused, as it would miss too much. UTF-16 units. */
const LEAST_SUBJECT_LENGTH = 128;

export function filterOf(text: string): Filter {
  const isInverted = text.startsWith("!");
  const rest = isInverted ? text.slice(1) : text;
  if (rest === "") return { kind: "none" };
  const matches =
    rest.length > 2 && rest.startsWith("/") && rest.endsWith("/") ? pattern(rest.slice(1, -1)) : plain(rest);
  if (typeof matches === "string") return { kind: "wrong", words: matches };
  return { kind: "match", isInverted, test: isInverted ? (subject) => !matches(subject) : matches };
}

/** Text that a filter looks for as it is; undefined: a pattern, what must not be there, or no filter. */
export const plainFilterText = (text: string): string | undefined =>
  text === "" || text.startsWith("!") || (text.length > 2 && text.startsWith("/") && text.endsWith("/"))
    ? undefined
    : text;

type Matches = (subject: string) => boolean;

function plain(text: string): Matches {
  const wanted = text.toLowerCase();
  return (subject) => subject.toLowerCase().includes(wanted);
}

function pattern(source: string): Matches | string {
  if (source.length > MAX_PATTERN_LENGTH) return `a pattern has ${MAX_PATTERN_LENGTH} characters at most`;
  // What may stand before anything is found anyway, and would be tried at each character.
  const searched = source.replace(/^\.\*\??(?!\|)/, "");
  let compiled: RegExp;
  try {
    new RegExp(source, "i");
    compiled = new RegExp(searched, "i");
  } catch {
    return "the pattern is not a regular expression";
  }
  const cost = costOf(searched);
  if (typeof cost === "string") return cost;
  const length = lengthFor(cost);
  if (length < LEAST_SUBJECT_LENGTH) return "the pattern has too many choices and repetitions";
  return (subject) => compiled.test(subject.slice(0, length));
}

interface Cost {
  /** Repetitions without an end: each multiplies by the length of the row what all before it cost. */
  readonly unbounded: number;
  /** Ways to go wrong within a length, by choices, what is optional, and counts. */
  readonly ways: number;
}

/** As far as a pattern may look into a row: tried from each character on, it then takes `MAX_STEPS` at the worst. */
function lengthFor({ unbounded, ways }: Cost): number {
  const orders = unbounded === 0 ? 1 : unbounded === 1 ? 2 : 6;
  return Math.floor(((MAX_STEPS * orders) / ways) ** (1 / (unbounded + 1)));
}

const TOKEN =
  /\\(?:[1-9]|k<)|\\(?:u[0-9a-f]{4}|x[0-9a-f]{2}|c[a-z]|.)|\[(?:\\.|[^\]\\])*\]|\((?:\?(?::|<?[=!]|<\w+>))?|\)|\||[*+?]\??|\{\d+(?:,\d*)?\}\??|./gisu;

interface Group {
  /** Whether something in it repeats, is optional or a choice. */
  readonly isVaried: boolean;
  readonly choices: number;
}

const PLAIN: Group = { isVaried: false, choices: 1 };

/** Or why it might take too long, whatever the row. `source` compiles. */
function costOf(source: string): Cost | string {
  /** Those that are open, the pattern itself first. */
  const groups: Group[] = [PLAIN];
  let unbounded = 0;
  let ways = 1;
  /** What stands right before: a token, or `(` for a group; undefined after an opening one and a bar. */
  let atom: string | undefined;
  let isGroupVaried = false;
  let isMandatory = false;
  /** What an endless repetition repeats that nothing mandatory parts from here. */
  let repeated: string | undefined;
  const vary = (choices: 0 | 1): void => {
    const inner = groups.pop() ?? PLAIN;
    groups.push({ isVaried: true, choices: inner.choices + choices });
  };
  for (const [token] of source.matchAll(TOKEN)) {
    if (/^\\(?:[1-9]|k<)/.test(token)) return "a pattern must not refer back";
    if (/^\(\?<?[=!]/.test(token)) return "a pattern must not look around";
    if (atom !== undefined && /^(?:[*+?]|\{\d)/.test(token)) {
      vary(0);
      isMandatory = false;
      const most = mostOf(token);
      if (most > 1 && atom === "(" && isGroupVaried) return "a pattern must not repeat what itself repeats or chooses";
      if (Number.isFinite(most)) {
        ways *= Math.max(2, most);
        continue;
      }
      unbounded += 1;
      if (unbounded > MAX_UNBOUNDED) return `a pattern has ${MAX_UNBOUNDED} repetitions without an end at most`;
      if (repeated !== undefined && mayOverlap(repeated, atom))
        return "a pattern must not repeat the same twice in a row";
      repeated = atom;
      continue;
    }
    if (isMandatory) repeated = undefined;
    isMandatory = false;
    if (token === ")") {
      const { isVaried, choices } = groups.pop() ?? PLAIN;
      if (isVaried) vary(0);
      ways *= choices;
      isGroupVaried = isVaried;
      atom = "(";
    } else if (token.startsWith("(")) {
      groups.push(PLAIN);
      atom = undefined;
    } else if (token === "|") {
      vary(1);
      atom = undefined;
    } else {
      atom = token;
      isMandatory = true;
    }
  }
  return { unbounded, ways: ways * (groups[0]?.choices ?? 1) };
}

/** Times that a quantifier repeats at most. */
function mostOf(token: string): number {
  if (token.startsWith("?")) return 1;
  if (!token.startsWith("{")) return Number.POSITIVE_INFINITY;
  const [least = "", most = least] = token.replace(/[{}?]/g, "").split(",");
  return most === "" ? Number.POSITIVE_INFINITY : Number(most);
}

/** Whether the two may match the same character, as far as a look tells. */
function mayOverlap(a: string, b: string): boolean {
  const isWide = (atom: string): boolean => /^(?:\.|\(|\[\^|\\[DSW])/.test(atom);
  return a === b || isWide(a) || isWide(b);
}
