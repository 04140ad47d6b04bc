/**
 * Compiles custom recognizers, or returns their problems. Expressions run in linear time in both modes; number, size
 * and examples are limited. Source: specification document 3, `custom_recognizers[]`.
 */

import { CATEGORIES, type Category } from "../../../core/guardrails/index.ts";
import type { Engine } from "../engines.ts";
import { compileLinear } from "../linear.ts";
import type { Recognizer, SearchPattern } from "../types.ts";
import { denyList, LONGEST_LITERAL } from "./deny-list.ts";
import { exampleProblems } from "./examples.ts";
import { type CustomRecognizer, validatorOf } from "./validators.ts";

interface CustomProblem {
  readonly path: readonly (string | number)[];
  readonly message: string;
}

const MAX_PATTERNS = 256;
const LONGEST_PATTERN = 4096;
const MAX_LITERALS = 20_000;

export function compileCustom(
  configs: readonly CustomRecognizer[],
  builtIn: ReadonlySet<string>,
  engine: Engine,
): { readonly recognizers: readonly Recognizer[]; readonly problems: readonly CustomProblem[] } {
  const problems: CustomProblem[] = countProblems(configs);
  if (problems.length > 0) return { recognizers: [], problems };
  const names = new Set<string>();
  const recognizers = configs.flatMap((config, at) => {
    const path = ["custom_recognizers", at];
    const refuse = (below: readonly (string | number)[], message: string) =>
      void problems.push({ path: [...path, ...below], message });
    const before = problems.length;
    if (builtIn.has(config.name)) refuse(["name"], `\`${config.name}\` is the name of a built-in recognizer`);
    if (names.has(config.name)) refuse(["name"], `an earlier recognizer has the name \`${config.name}\` too`);
    names.add(config.name);
    const category = categoryOf(config.category);
    if (category === undefined) refuse(["category"], `the namespaces are ${CATEGORIES.join(", ")}`);
    const patterns = patternsOf(config, engine, refuse);
    if (category === undefined || problems.length > before) return [];
    const recognizer: Recognizer = {
      name: config.name,
      entity: config.entity,
      category,
      patterns,
      context: (config.context ?? []).map((word) => word.toLowerCase()),
    };
    for (const { path: below, message } of exampleProblems(config, recognizer, engine)) refuse(below, message);
    return [recognizer];
  });
  return { recognizers, problems };
}

function countProblems(configs: readonly CustomRecognizer[]): CustomProblem[] {
  const path = ["custom_recognizers"];
  const found: CustomProblem[] = [];
  const patterns = configs.reduce((sum, it) => sum + (it.patterns?.length ?? 0), 0);
  if (patterns > MAX_PATTERNS) found.push({ path, message: `${patterns} patterns, at most ${MAX_PATTERNS}` });
  const literals = configs.reduce((sum, it) => sum + (it.deny_list?.length ?? 0), 0);
  if (literals > MAX_LITERALS) found.push({ path, message: `${literals} literals, at most ${MAX_LITERALS}` });
  return found;
}

function categoryOf(name: string | undefined): Category | undefined {
  return name === undefined || name === "" ? "pii" : CATEGORIES.find((category) => category === name);
}

type Refuse = (below: readonly (string | number)[], message: string) => void;

function patternsOf(config: CustomRecognizer, engine: Engine, refuse: Refuse): readonly SearchPattern[] {
  const isCaseSensitive = config.case_sensitive === true;
  const isValid = config.validator === undefined ? undefined : validatorOf(config.validator);
  const found: SearchPattern[] = [];
  for (const [at, { name, regex, score }] of (config.patterns ?? []).entries()) {
    const path = ["patterns", at, "regex"];
    if (regex.length > LONGEST_PATTERN) {
      refuse(path, `${regex.length} characters, at most ${LONGEST_PATTERN}`);
      continue;
    }
    try {
      compileLinear(regex, isCaseSensitive);
      const search = engine.custom(regex, isCaseSensitive);
      found.push({
        kind: "search",
        name: name ?? `pattern ${at + 1}`,
        score,
        keywords: [],
        containingRegex: regex,
        search: (text, place) => {
          search(text, (start, end) => {
            const proof = isValid?.(text.slice(start, end));
            if (proof !== false) place(start, end, proof);
          });
        },
      });
    } catch (error) {
      refuse(path, `this expression is not supported: ${(error as Error).message}`);
    }
  }
  const literals = config.deny_list ?? [];
  for (const [at, literal] of literals.entries()) {
    if (literal === "") refuse(["deny_list", at], "an empty literal matches nothing");
    if (literal.length > LONGEST_LITERAL) {
      refuse(["deny_list", at], `${literal.length} characters, at most ${LONGEST_LITERAL}`);
    }
  }
  if (literals.length > 0) found.push(denyList(literals, isCaseSensitive, config.deny_list_score || 1));
  return found;
}
