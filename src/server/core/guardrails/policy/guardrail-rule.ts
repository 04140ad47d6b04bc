/** One compiled rule. Source: document 3, `guardrails.rules[]`. */

import { compileExpression, type Expression, type ExpressionProblem, type VariableTypes } from "../../cel/index.ts";
import type { GuardrailRule } from "../index.ts";
import { type GuardrailProblem, type SegmentKind, WRITABLE_KINDS } from "../index.ts";
import { SELECT_VARIABLES, WHEN_VARIABLES } from "./guardrail-variables.ts";
import { compileOperator, type Operator, type OperatorKeys } from "./operators/index.ts";

export interface CompiledRule {
  readonly rule: GuardrailRule;
  /** Index of the rule in the document. */
  readonly index: number;
  /** Condition; `undefined` if the rule fires on every finding. */
  readonly when: Expression | undefined;
  /** Selection; `undefined` if the rule selects every annotation. */
  readonly select: Expression | undefined;
  /** Detectors that the rule depends on; `undefined` for the whole ensemble. */
  readonly requires: ReadonlySet<string> | undefined;
  /** Kinds of segment that it may rewrite. */
  readonly kinds: ReadonlySet<SegmentKind>;
  readonly operator: Operator;
  readonly message: string;
  readonly failsOpen: boolean;
}

type RuleOutcome =
  | { readonly kind: "compiled"; readonly rule: CompiledRule }
  | { readonly kind: "refused"; readonly problems: readonly GuardrailProblem[] };

export const rulePath = (index: number, ...below: readonly (string | number)[]): GuardrailProblem["path"] => [
  "guardrails",
  "rules",
  index,
  ...below,
];

export function compileRule(rule: GuardrailRule, index: number, keys: OperatorKeys): RuleOutcome {
  const when = expressionOf(rule, index, "when", WHEN_VARIABLES);
  const select = expressionOf(rule, index, "select", SELECT_VARIABLES);
  const problems = [...when.problems, ...select.problems];
  if (problems.length > 0) return { kind: "refused", problems };
  const compiled: CompiledRule = {
    rule,
    index,
    when: when.expression,
    select: select.expression,
    requires: rule.requires && new Set(rule.requires),
    kinds: new Set(rule.kinds ?? WRITABLE_KINDS),
    operator: compileOperator(rule, keys),
    message: rule.message || `denied by guardrail rule ${rule.name}`,
    failsOpen: rule.on_error === "fail_open",
  };
  return { kind: "compiled", rule: compiled };
}

interface CompiledPart {
  readonly expression: Expression | undefined;
  readonly problems: readonly GuardrailProblem[];
}

function expressionOf(
  rule: GuardrailRule,
  index: number,
  key: "when" | "select",
  variables: VariableTypes,
): CompiledPart {
  const source = rule[key];
  if (source === undefined || source.trim() === "") return { expression: undefined, problems: [] };
  const compiled = compileExpression(source, { variables, result: "bool" });
  const wrong = compiled.kind === "refused" ? compiled.problems : mistakesOf(compiled.expression);
  const problems = wrong.map((problem) => ({
    severity: "error" as const,
    path: rulePath(index, key),
    message: withPosition(problem, source),
  }));
  return { expression: compiled.kind === "compiled" ? compiled.expression : undefined, problems };
}

/** Reports conditions that would refuse every request, or are never true. */
const mistakesOf = ({ failures, mentions }: Expression): readonly ExpressionProblem[] => [
  ...failures,
  ...mentions.flatMap(({ subject, how, texts, line, column }) =>
    texts.flatMap((text) => {
      if (how === "starts" || (subject !== "annotation.type" && subject !== "labels") || text.includes("/")) return [];
      const message = `a type is written \`<category>/<LABEL>\`: \`${text}\` is none, \`pii/${text}\` or \`label\` may be meant`;
      return [{ line, column, message }];
    }),
  ),
];

/** Puts the position before the message: the column, and also the line if the expression has more than one. */
export const withPosition = (
  { line, column, message }: Pick<ExpressionProblem, "line" | "column" | "message">,
  source: string,
): string => (source.includes("\n") ? `line ${line}, column ${column}: ${message}` : `column ${column}: ${message}`);
