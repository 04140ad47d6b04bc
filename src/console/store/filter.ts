/**
 * Filter language: case-insensitive text, or `/pattern/` as a case-insensitive regular expression; a leading `!` inverts
 * either. Source: operator console reference, B2.
 *
 * Patterns run in the key handler over every row, in a backtracking engine. Those that can take disproportionate time are
 * refused: repetition or choice inside a repetition, a repetition after one that may match the same text, more than two
 * unbounded repetitions, many choices, back references and lookarounds. This also refuses some harmless patterns, and a costly
 * pattern examines only the start of a long row.
 */

type Filter =
  | { readonly kind: "none" }
  | { readonly kind: "match"; readonly isInverted: boolean; test(text: string): boolean }
  /** Invalid filter: it filters nothing; `message` explains why. */
  | { readonly kind: "wrong"; readonly message: string };

/** Maximum length of a pattern, in UTF-16 units. */
const MAX_PATTERN_LENGTH = 200;
const MAX_UNBOUNDED = 2;
/** Maximum number of steps of a pattern on the worst row: a few milliseconds, whereas usual rows take some hundred steps. */
const MAX_STEPS = 4_000_000;
/**
 * Minimum part of a row that a pattern must be able to examine, in UTF-16 units; a costlier pattern is refused because it would
 * miss too much.
 */
const MIN_SUBJECT_LENGTH = 128;

export function filterOf(text: string): Filter {
  const isInverted = text.startsWith("!");
  const rest = isInverted ? text.slice(1) : text;
  if (rest === "") return { kind: "none" };
  const matches =
    rest.length > 2 && rest.startsWith("/") && rest.endsWith("/") ? pattern(rest.slice(1, -1)) : plain(rest);
  if (typeof matches === "string") return { kind: "wrong", message: matches };
  return { kind: "match", isInverted, test: isInverted ? (subject) => !matches(subject) : matches };
}

/** Returns the text that a filter searches literally; `undefined` for a pattern, an inverted or an empty filter. */
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
  if (source.length > MAX_PATTERN_LENGTH) return `a pattern can have at most ${MAX_PATTERN_LENGTH} characters`;
  // Removes a leading `.*`: it does not change whether a pattern matches, but would be tried at each character.
  const searched = source.replace(/^\.\*\??(?!\|)/, "");
  let compiled: RegExp;
  try {
    new RegExp(source, "i");
    compiled = new RegExp(searched, "i");
  } catch {
    return "the pattern is not a valid regular expression";
  }
  const cost = costOf(searched);
  if (typeof cost === "string") return cost;
  const length = lengthFor(cost);
  if (length < MIN_SUBJECT_LENGTH) return "the pattern has too many alternatives and repetitions";
  return (subject) => compiled.test(subject.slice(0, length));
}

interface Cost {
  /** Number of unbounded repetitions: each multiplies the cost by the length of the row. */
  readonly unbounded: number;
  /** Number of alternatives within a length, from choices, optional parts and counts. */
  readonly ways: number;
}

/**
 * Returns how many characters of a row a pattern may examine, so that it takes at most `MAX_STEPS` if it is tried from each of
 * them.
 */
function lengthFor({ unbounded, ways }: Cost): number {
  const orders = unbounded === 0 ? 1 : unbounded === 1 ? 2 : 6;
  return Math.floor(((MAX_STEPS * orders) / ways) ** (1 / (unbounded + 1)));
}

const TOKEN =
  /\\(?:[1-9]|k<)|\\(?:u[0-9a-f]{4}|x[0-9a-f]{2}|c[a-z]|.)|\[(?:\\.|[^\]\\])*\]|\((?:\?(?::|<?[=!]|<\w+>))?|\)|\||[*+?]\??|\{\d+(?:,\d*)?\}\??|./gisu;

interface Group {
  /** True if a part of the group repeats, is optional or is a choice. */
  readonly isVaried: boolean;
  readonly choices: number;
}

const PLAIN: Group = { isVaried: false, choices: 1 };

/** Returns the cost, or the reason why the pattern might take too long on any row. `source` compiles. */
function costOf(source: string): Cost | string {
  /** Open groups, the pattern itself first. */
  const groups: Group[] = [PLAIN];
  let unbounded = 0;
  let ways = 1;
  /** Preceding token, or `(` for a group; `undefined` after an opening parenthesis and a bar. */
  let atom: string | undefined;
  let isGroupVaried = false;
  let isMandatory = false;
  /** Repeated part of the last unbounded repetition, unless something mandatory follows it. */
  let repeated: string | undefined;
  const vary = (choices: 0 | 1): void => {
    const inner = groups.pop() ?? PLAIN;
    groups.push({ isVaried: true, choices: inner.choices + choices });
  };
  for (const [token] of source.matchAll(TOKEN)) {
    if (/^\\(?:[1-9]|k<)/.test(token)) return "backreferences are not supported in a pattern";
    if (/^\(\?<?[=!]/.test(token)) return "lookahead and lookbehind are not supported in a pattern";
    if (atom !== undefined && /^(?:[*+?]|\{\d)/.test(token)) {
      vary(0);
      isMandatory = false;
      const most = mostOf(token);
      if (most > 1 && atom === "(" && isGroupVaried) return "nested repetitions are not supported in a pattern";
      if (Number.isFinite(most)) {
        ways *= Math.max(2, most);
        continue;
      }
      unbounded += 1;
      if (unbounded > MAX_UNBOUNDED) return `a pattern can have at most ${MAX_UNBOUNDED} unbounded repetitions`;
      if (repeated !== undefined && mayOverlap(repeated, atom))
        return "a pattern must not repeat the same characters twice in a row";
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

/** Returns the maximum count of a quantifier. */
function mostOf(token: string): number {
  if (token.startsWith("?")) return 1;
  if (!token.startsWith("{")) return Number.POSITIVE_INFINITY;
  const [least = "", most = least] = token.replace(/[{}?]/g, "").split(",");
  return most === "" ? Number.POSITIVE_INFINITY : Number(most);
}

/** Returns whether both atoms may match the same character. In doubt, returns `true`. */
function mayOverlap(a: string, b: string): boolean {
  const isWide = (atom: string): boolean => /^(?:\.|\(|\[\^|\\[DSW])/.test(atom);
  return a === b || isWide(a) || isWide(b);
}
