/**
 * Translates the RE2 syntax of the built-in patterns to that of V8, so that both engines find the same matches. Syntax
 * with another meaning, or that could take more than linear time, is refused.
 */

/** Maximum count of a repeat. */
const MAX_REPEATS = 10_000;

const SPACE = "\\t\\n\\f\\r ";

/**
 * Translates an expression of RE2 with `(?sm)` to V8 with the flags `su`. Throws on syntax that the two engines
 * interpret differently, and on unbounded repeats.
 */
export function toV8(regex: string): string {
  let written = "";
  let inClass = false;
  for (let at = 0; at < regex.length; at++) {
    const character = regex[at]!;
    if (character === "\\") {
      at += 1;
      written += escaped(regex, at, inClass);
      if (/[pP]/.test(regex[at]!)) at = endOfProperty(regex, at, (part) => (written += part));
      continue;
    }
    if (inClass) {
      if (character === "]") inClass = false;
      if (character === "[") {
        if (regex[at + 1] === ":") throw new Error("a class of POSIX has no counterpart");
        written += "\\[";
      } else written += character;
      continue;
    }
    if (character === "[") {
      inClass = true;
      written += "[";
      if (regex[at + 1] === "^") written += regex[++at]!;
      // A closing bracket in first position is a member of the class.
      if (regex[at + 1] === "]") {
        written += "\\]";
        at += 1;
      }
    } else if (character === "^") written += "(?<![^\\n])";
    else if (character === "$") written += "(?![^\\n])";
    else if (character === "(" && regex.startsWith("(?", at)) {
      const opening = /^\(\?(?::|P?<[A-Za-z]\w*>)/.exec(regex.slice(at))?.[0];
      if (opening === undefined) throw new Error("flags and lookaround are not part of built-in patterns");
      written += opening.replace("?P<", "?<");
      at += opening.length - 1;
    } else if (character === "*" || character === "+") throw new Error("a repeat has no bound");
    else if (character === "{") {
      const repeat = /^\{(\d+)(?:,(\d+))?\}/.exec(regex.slice(at));
      if (repeat === null) throw new Error("a repeat has no bound, or a brace is not escaped");
      if (Number(repeat[2] ?? repeat[1]) > MAX_REPEATS) throw new Error("a repeat is too long");
      written += repeat[0];
      at += repeat[0].length - 1;
    } else written += character === "}" || character === "]" ? `\\${character}` : character;
  }
  return written;
}

/** Returns whether an expression may match a non-ASCII character, some of which are two units. */
export function takesBeyondAscii(regex: string): boolean {
  return /\\[DWSpP]|\[\^|[^\0-\x7f]/.test(regex) || /\./.test(regex.replace(/\\.|\[(?:\\.|[^\]\\])*\]/gs, ""));
}

function escaped(regex: string, at: number, inClass: boolean): string {
  const character = regex[at];
  if (character === undefined) throw new Error("an escape at the end");
  if (character === "s") return inClass ? SPACE : `[${SPACE}]`;
  if (character === "S" && !inClass) return `[^${SPACE}]`;
  if (/[dDwW]/.test(character)) return `\\${character}`;
  if (/[bB]/.test(character) && !inClass) return `\\${character}`;
  if (/[pP]/.test(character)) return `\\${character}`;
  if (/[nrtfv]/.test(character)) return `\\${character}`;
  if (/[A-Za-z0-9]/.test(character)) throw new Error(`\\${character} is not read alike by both engines`);
  // With the flag `u` only these characters may be escaped.
  return /[\^$\\.*+?()[\]{}|/-]/.test(character) && (character !== "-" || inClass) ? `\\${character}` : character;
}

/** Translates a property, such as `\pL` of RE2 to `\p{L}` of V8. Returns its end. */
function endOfProperty(regex: string, at: number, write: (part: string) => void): number {
  if (regex[at + 1] !== "{") {
    write(`{${regex[at + 1]}}`);
    return at + 1;
  }
  const end = regex.indexOf("}", at);
  if (end < 0) throw new Error("a property has no end");
  const name = regex.slice(at + 2, end);
  write(name.length > 2 ? `{Script=${name}}` : `{${name}}`);
  return end;
}

/** Maximum count of one repeat in RE2. */
const RE2_REPEATS = 1000;

/** Translates for RE2: splits a repeat above its limit into several consecutive ones, which match the same. */
export function toRe2(regex: string): string {
  return regex.replace(
    /(\[(?:\\.|[^\]\\])*\]|\\[pP]\{\w+\}|\\.|[^\\\])}])\{(\d+)(?:,(\d+))?\}(\??)/gs,
    (all: string, atom: string, from: string, to: string | undefined, lazy: string) => {
      let least = Number(from);
      let most = Number(to ?? from);
      if (most <= RE2_REPEATS) return all;
      let written = "";
      for (; most > 0; most -= RE2_REPEATS, least -= RE2_REPEATS) {
        const part = `{${Math.max(0, Math.min(least, RE2_REPEATS))},${Math.min(most, RE2_REPEATS)}}`;
        written += atom + part + lazy;
      }
      return written;
    },
  );
}
