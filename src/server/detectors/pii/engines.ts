/**
 * Engines that search for regular expressions: V8 (`pure`), the native library `re2` (`native`), or a linear-time
 * engine without native code, for operators' expressions in `pure` mode.
 */

import { createRequire } from "node:module";
import { linearSearch } from "./linear.ts";
import { nextPlace, type Search } from "./match-search.ts";
import { takesBeyondAscii, toRe2, toV8 } from "./pattern-syntax.ts";

export type Prefilter = "native" | "pure";

/**
 * Compiles expressions of RE2 syntax, in which a dot matches line breaks and anchors match at lines. Throws on invalid
 * syntax.
 */
export interface Engine {
  readonly builtIn: (regex: string, isCaseSensitive: boolean) => Search;
  readonly custom: (regex: string, isCaseSensitive: boolean) => Search;
}

type Compile = new (source: string, flags: string) => RegExp;

const PURE: Engine = {
  builtIn: (regex, isCaseSensitive) => {
    // With `u`, V8 ignores the case of non-ASCII letters, but then takes ten times as long for a `\\b`.
    const unicode = takesBeyondAscii(regex) ? "u" : "";
    return searchBy(new RegExp(toV8(regex), flagsOf(regex, `g${isCaseSensitive ? "" : "i"}s${unicode}`)));
  },
  custom: linearSearch,
};

/** Returns the engine; `undefined` if the package `re2` is missing, or not built for this Node.js. */
export function engineOf(prefilter: Prefilter): Engine | undefined {
  if (prefilter === "pure") return PURE;
  const Re2 = loadRe2();
  if (Re2 === undefined) return undefined;
  const compile = (regex: string, isCaseSensitive: boolean): Search =>
    searchBy(new Re2(regex, flagsOf(regex, isCaseSensitive ? "gmsu" : "gimsu")));
  return { builtIn: (regex, isCaseSensitive) => compile(toRe2(regex), isCaseSensitive), custom: compile };
}

/** Loads the package as Node.js finds it: beside the program, in NODE_PATH, or in a global folder. */
function loadRe2(): Compile | undefined {
  try {
    return createRequire(import.meta.url)("re2") as Compile;
  } catch {
    return undefined;
  }
}

function flagsOf(regex: string, flags: string): string {
  return hasValue(regex) ? `d${flags}` : flags;
}

function hasValue(regex: string): boolean {
  return /\(\?P?<value>/.test(regex);
}

function searchBy(expression: RegExp): Search {
  return (text, place) => {
    expression.lastIndex = 0;
    for (let match = expression.exec(text); match !== null; match = expression.exec(text)) {
      if (match[0] === "") {
        expression.lastIndex = nextPlace(text, match.index);
        continue;
      }
      const value = match.indices?.groups?.["value"];
      if (value !== undefined) place(value[0], value[1]);
      else place(match.index, match.index + match[0].length);
    }
  };
}
