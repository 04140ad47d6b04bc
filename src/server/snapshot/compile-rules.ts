/**
 * Everything that needs the CEL engine: access rules, warnings about them that need the rest of the document, and costs that are
 * expressions. Only `load-rules.ts` imports this file, dynamically. Source: specification document 3, `access_rules[]`,
 * `budgets[].cost`; design decisions, section 6.
 */
import { closestName } from "../../base/index.ts";
import type { CompileCost, CostValue, CostVariables } from "../core/budgets/index.ts";
import {
  type CompiledExpression,
  compileExpression,
  type Expression,
  type ExpressionProblem,
  INT,
  numberOf,
  STRING,
  type VariableTypes,
} from "../core/cel/index.ts";
import type { Deployment } from "../core/config/index.ts";
import {
  type AccessRule,
  type CompiledPolicies,
  compilePolicies,
  HOP_VARIABLES,
  HOPS,
  type KnownNames,
  type RuleProblem,
} from "../core/policy/index.ts";

/** Compiles the rules of all layers. Paths of problems begin at the document's root. */
export function compileRules(document: Deployment, known: KnownNames): CompiledPolicies {
  const { policies, problems } = compilePolicies(document, known);
  const profiles = document.profiles ?? [];
  const lists = [
    { path: ["access_rules"], rules: document.access_rules ?? [] },
    ...profiles.map(({ access_rules: rules = [] }, at) => ({ path: ["profiles", at, "access_rules"], rules })),
  ];
  const unfilled = unfilledVariables(document.auth);
  const metadata = new Set((document.providers ?? []).flatMap(({ metadata: own = {} }) => Object.keys(own)));
  const warnings = lists.flatMap(({ path, rules }) =>
    rules.flatMap((rule, at): readonly RuleProblem[] => {
      const expression = expressionOf(rule);
      const messages = [...emptyReads(expression, unfilled), ...unknownMetadata(expression, metadata, rule.condition)];
      return messages.map((message) => ({ severity: "warning", path: [...path, at, "condition"], message }));
    }),
  );
  return { policies, problems: [...problems, ...warnings] };
}

/** Returns the caller variables that no caller can fill under this configuration, each with the reason. */
function unfilledVariables(auth: Deployment["auth"]): ReadonlyMap<string, string> {
  if (auth === undefined) {
    const reason = "without `auth` every caller is anonymous";
    return new Map(["key", "agent", "user"].map((variable) => [variable, reason]));
  }
  const found = new Map<string, string>();
  if (!auth.virtual_keys) found.set("key", "`virtual_keys` of `auth` is off");
  if (auth.issuers.length === 0) found.set("agent", "`auth` names no issuer");
  if (auth.issuers.every(({ subject }) => subject !== "user")) {
    found.set("user", "no issuer of `auth` has `subject: user`");
  }
  return found;
}

/** Compiles for the first traffic type that the rule applies to; `undefined` if it does not compile. */
function expressionOf({ at, condition }: AccessRule): Expression | undefined {
  const hop = HOPS.find((it) => at === undefined || at.includes(it));
  if (hop === undefined) return undefined;
  const compiled = compileExpression(condition, { variables: HOP_VARIABLES[hop], result: "bool" });
  return compiled.kind === "compiled" ? compiled.expression : undefined;
}

const emptyReads = (expression: Expression | undefined, unfilled: ReadonlyMap<string, string>): readonly string[] =>
  (expression?.reads ?? []).flatMap((variable) => {
    const reason = unfilled.get(variable);
    return reason === undefined ? [] : [`reads \`${variable}\`, which is empty for every caller: ${reason}`];
  });

const METADATA = "provider.metadata.";

/**
 * Returns warnings about metadata keys that no provider has. A comparison with such a key matches nothing, and fails if no
 * `has()` guards it.
 */
const unknownMetadata = (
  expression: Expression | undefined,
  keys: ReadonlySet<string>,
  source: string,
): readonly string[] =>
  (expression?.comparisons ?? []).flatMap((comparison) => {
    const key = comparison.path.startsWith(METADATA) ? comparison.path.slice(METADATA.length) : "";
    if (key === "" || keys.has(key)) return [];
    const message = `no provider has \`metadata.${key}\`${hintOf(key, keys)}`;
    return [placed({ ...comparison, message }, source)];
  });

function hintOf(name: string, names: Iterable<string>): string {
  const meant = closestName(name, names);
  return meant === undefined ? "" : `, did you mean \`${meant}\`?`;
}

const COST_VARIABLES = {
  model: STRING,
  backend: STRING,
  input_tokens: INT,
  output_tokens: INT,
  total_tokens: INT,
  cached_input_tokens: INT,
  cache_creation_input_tokens: INT,
  reasoning_tokens: INT,
} as const satisfies VariableTypes & Readonly<Record<keyof CostVariables, unknown>>;

/** Port of budgets to the expression engine. `warn` is called for unknown providers in the expression. */
export const costCompiler =
  (providers: readonly string[], warn: (message: string) => void): CompileCost =>
  (source) => {
    const compiled = compileExpression(source, { variables: COST_VARIABLES, result: "number" });
    const wrong = faultsOf(compiled);
    if (compiled.kind === "refused" || wrong.length > 0) {
      return { kind: "invalid", message: wrong.map((problem) => placed(problem, source)).join("; ") };
    }
    const { expression } = compiled;
    if (expression.constant !== undefined && !(Number(numberOf(expression.constant)) >= 0)) {
      return { kind: "invalid", message: "is always negative or not a number" };
    }
    for (const problem of unknownBackends(expression, providers)) warn(placed(problem, source));
    const constant = expression.constant === undefined ? undefined : Number(numberOf(expression.constant));
    const evaluate = (variables: CostVariables): CostValue => costOf(expression, variables);
    return { kind: "compiled", evaluate, ...(constant !== undefined && { constant }) };
  };

/**
 * Returns the problems of a cost expression, including parts that always fail: they would leave every charge at the reserved
 * amount.
 */
const faultsOf = (compiled: CompiledExpression): readonly ExpressionProblem[] =>
  compiled.kind === "refused" ? compiled.problems : compiled.expression.failures;

/** Prefixes the position within an expression of more than one line. */
const placed = ({ line, column, message }: ExpressionProblem, source: string): string =>
  source.includes("\n") ? `line ${line}, column ${column}: ${message}` : `column ${column}: ${message}`;

function unknownBackends({ comparisons }: Expression, providers: readonly string[]): readonly ExpressionProblem[] {
  return comparisons.flatMap(({ path, how, texts, line, column }) => {
    if (path !== "backend") return [];
    const isKnown = (text: string): boolean =>
      providers.some((name) => (how === "equals" ? name === text : name.startsWith(text)));
    return texts
      .filter((text) => !isKnown(text))
      .map((text) => {
        const what = how === "equals" ? `there is no provider \`${text}\`` : `no provider begins with \`${text}\``;
        return { line, column, message: `${what}${hintOf(text, providers)}` };
      });
  });
}

function costOf({ evaluate, reads }: Expression, variables: CostVariables): CostValue {
  const costVariables: Record<string, string | bigint> = {};
  for (const name of reads) {
    const value = variables[name as keyof CostVariables];
    costVariables[name] = typeof value === "number" ? intOf(value) : value;
  }
  const outcome = evaluate(costVariables);
  if (outcome.kind === "error") return { kind: "error", message: outcome.error.message };
  const value = numberOf(outcome.value);
  return value === undefined ? { kind: "error", message: "the cost is not a number" } : { kind: "value", value };
}

/** Rounds up, since the counts of an estimate may be fractions. */
const intOf = (count: number): bigint => BigInt(Math.min(Math.ceil(count), Number.MAX_SAFE_INTEGER));
