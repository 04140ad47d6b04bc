/** Compiles the list of values that are not findings. Source: document 3, `allow_list`; guardrails reference, 2.3. */

import { RE2JS } from "@bufbuild/re2";
import type { GuardrailProblem, Guardrails } from "../index.ts";

/**
 * Maximum length of an entry in UTF-16 units, and maximum number of instructions of all entries together. A value is matched in
 * linear time.
 */
const MAX_ENTRY_LENGTH = 1024;
const MAX_INSTRUCTIONS = 20_000;

/** Maximum length of a value that is matched, in UTF-16 units: expressions are slow, and a value may be a whole text. */
const MAX_VALUE_LENGTH = 8192;

export type AllowList = (value: string) => boolean;

interface CompiledAllowList {
  /** Compiled list; `undefined` if nothing is allowed. */
  readonly allows: AllowList | undefined;
  readonly problems: readonly GuardrailProblem[];
}

export function compileAllowList({ allow_list = [], allow_list_match }: Guardrails): CompiledAllowList {
  if (allow_list_match === "regex") return expressionsOf(allow_list);
  const listed = new Set(allow_list.filter((entry) => entry !== ""));
  return { allows: listed.size === 0 ? undefined : (value) => listed.has(value), problems: [] };
}

const FLAGS = RE2JS.CASE_INSENSITIVE | RE2JS.DOTALL | RE2JS.MULTILINE;

function expressionsOf(entries: readonly string[]): CompiledAllowList {
  const problems: GuardrailProblem[] = [];
  const refuse = (path: GuardrailProblem["path"], message: string): void => {
    problems.push({ severity: "error", path: ["guardrails", "allow_list", ...path], message });
  };
  const sources: string[] = [];
  let instructions = 0;
  for (const [at, entry] of entries.entries()) {
    if (entry === "") continue;
    const compiled = entry.length > MAX_ENTRY_LENGTH ? undefined : compiledEntry(entry);
    if (entry.length > MAX_ENTRY_LENGTH)
      refuse([at], `has ${entry.length} characters, at most ${MAX_ENTRY_LENGTH} are allowed`);
    else if (compiled === undefined)
      refuse([at], "is not a regular expression of RE2 (which has no lookaround and no back references)");
    else if (compiled.matches("")) refuse([at], "matches the empty text, so every finding would be allowed");
    else sources.push(`(?:${entry})`);
    instructions += compiled?.re2().prog.numInst() ?? 0;
  }
  if (instructions > MAX_INSTRUCTIONS) {
    refuse(
      [],
      `the expressions together are too large: ${instructions} instructions, at most ${MAX_INSTRUCTIONS} are allowed`,
    );
  }
  if (problems.length > 0 || sources.length === 0) return { allows: undefined, problems };
  const joined = RE2JS.compile(sources.join("|"), FLAGS);
  return { allows: (value) => value.length <= MAX_VALUE_LENGTH && joined.test(value), problems };
}

function compiledEntry(entry: string): RE2JS | undefined {
  try {
    return RE2JS.compile(entry, FLAGS);
  } catch {
    return undefined;
  }
}
