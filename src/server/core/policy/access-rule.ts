/**
 * Compiles one access rule for each traffic type it applies to. Spec: document 3, `access_rules[]`.
 *
 * A rule without `at` applies to all traffic types and may read only variables that all of them declare; otherwise it is
 * refused, with the `at` that would make it valid.
 */

import { compileExpression, type Expression, type ExpressionProblem } from "../cel/index.ts";
import type { Deployment, Path, Severity } from "../config/index.ts";
import { HOP_VARIABLES, HOPS, type Hop } from "./hop-variables.ts";

export type AccessRule = NonNullable<Deployment["access_rules"]>[number];

/** Problem of a rule, at a path below its list: `[2, "condition"]`. */
export interface RuleProblem {
  readonly severity: Severity;
  readonly path: Path;
  readonly message: string;
}

export interface CompiledRule {
  readonly rule: AccessRule;
  readonly hops: readonly Hop[];
  readonly conditions: Readonly<Partial<Record<Hop, Expression>>>;
}

type RuleOutcome =
  | { readonly kind: "compiled"; readonly rule: CompiledRule }
  | { readonly kind: "refused"; readonly problems: readonly RuleProblem[] };

/** Compiles a rule. `index` is its position in the list. */
export function compileRule(rule: AccessRule, index: number): RuleOutcome {
  const hops = HOPS.filter((hop) => rule.at === undefined || rule.at.includes(hop));
  const conditions: Partial<Record<Hop, Expression>> = {};
  const refused: (readonly ExpressionProblem[])[] = [];
  for (const hop of hops) {
    const compiled = compileExpression(rule.condition, { variables: HOP_VARIABLES[hop], result: "bool" });
    if (compiled.kind === "refused") refused.push(compiled.problems);
    // A part that always fails would refuse every request.
    else if (compiled.expression.failures.length > 0) refused.push(compiled.expression.failures);
    else conditions[hop] = compiled.expression;
  }
  if (refused.length === 0) return { kind: "compiled", rule: { rule, hops, conditions } };
  const messages = new Set(refused.flat().map((problem) => explain(problem, rule, hops)));
  const path = [index, "condition"];
  return { kind: "refused", problems: [...messages].map((message) => ({ severity: "error", path, message })) };
}

/** Puts the position before the message: the column, and also the line if the condition has more than one. */
export const withPosition = ({ line, column, message }: ExpressionProblem, source: string): string =>
  source.includes("\n") ? `line ${line}, column ${column}: ${message}` : `column ${column}: ${message}`;

function explain(problem: ExpressionProblem, rule: AccessRule, hops: readonly Hop[]): string {
  const { unknown } = problem;
  const declaring = unknown === undefined ? [] : HOPS.filter((hop) => Object.hasOwn(HOP_VARIABLES[hop], unknown));
  if (unknown === undefined || declaring.length === 0) return withPosition(problem, rule.condition);
  return withPosition({ ...problem, message: hopMessage(unknown, declaring, rule, hops) }, rule.condition);
}

function hopMessage(unknown: string, declaring: readonly Hop[], rule: AccessRule, hops: readonly Hop[]): string {
  const where = `\`${unknown}\` is declared only at ${enumerate(declaring)}`;
  const compilable = compilableHops(rule).filter((hop) => hops.includes(hop));
  const proposal = compilable.length === 0 ? "" : `; say \`at: [${compilable.join(", ")}]\``;
  return rule.at === undefined
    ? `${where}, but a rule without \`at\` applies to ${enumerate(HOPS)}${proposal}`
    : `${where}, but this rule applies to ${enumerate(hops)}${proposal}`;
}

const compilableHops = ({ condition }: AccessRule): readonly Hop[] =>
  HOPS.filter(
    (hop) => compileExpression(condition, { variables: HOP_VARIABLES[hop], result: "bool" }).kind === "compiled",
  );

function enumerate(words: readonly string[]): string {
  const last = words.at(-1) ?? "";
  return words.length < 2 ? last : `${words.slice(0, -1).join(", ")} and ${last}`;
}
