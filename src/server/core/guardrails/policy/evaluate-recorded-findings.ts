/**
 * Evaluates rules over findings of which texts, scores and places are not recorded. Returns what a rule decides by the types
 * alone, or else which unknown value it reads. For rehearsals of recorded requests.
 */
import { Fault } from "../../cel/index.ts";
import type { GuardrailVariables, KnownFinding, RuleWeight } from "../index.ts";
import type { CompiledRule } from "./guardrail-rule.ts";
import { whenVariables } from "./guardrail-variables.ts";
import type { RulesInForce } from "./judge-texts.ts";

/** Kinds of segments whose texts can always be rewritten. */
const REWRITTEN: ReadonlySet<string> = new Set(["system", "user", "assistant", "output"]);

/** Evaluates the rules, and returns the results in their order. */
export function weighRules(
  { rules }: Pick<RulesInForce, "rules">,
  found: readonly KnownFinding[],
  variables: GuardrailVariables,
): readonly RuleWeight[] {
  return rules.map(({ rule }) => {
    const { name, action } = rule.rule;
    return { rule: name, action, ...weightOf(rule, found, variables) };
  });
}

type Weight = Pick<RuleWeight, "fires" | "reads">;

const DOES_NOT_FIRE: Weight = { fires: "no" };
const FIRES: Weight = { fires: "yes" };
const unknown = (reads: string): Weight => ({ fires: "unknown", reads });

function weightOf(rule: CompiledRule, found: readonly KnownFinding[], variables: GuardrailVariables): Weight {
  const { requires, when } = rule;
  // Findings of several detectors may have been merged into one.
  if (requires !== undefined && found.some(({ detector }) => !requires.has(detector))) return unknown("detectors");
  const watch = new AccessRecorder();
  const values = found.flatMap((finding) => Array.from({ length: finding.count }, () => watch.value(finding)));
  const labels = watch.labels(found);
  if (when === undefined) {
    if (values.length === 0) return DOES_NOT_FIRE;
  } else {
    const outcome = when.evaluate(whenVariables(variables, { annotations: values, labels }));
    if (watch.read !== undefined) return unknown(watch.read);
    if (outcome.kind === "error" || outcome.value instanceof Fault || typeof outcome.value !== "boolean") {
      return { fires: rule.failsOpen ? "no" : "fault" };
    }
    if (!outcome.value) return DOES_NOT_FIRE;
  }
  return rule.rule.action === "redact" ? weighSelection(rule, found, variables) : FIRES;
}

function weighSelection(
  { select, kinds }: CompiledRule,
  found: readonly KnownFinding[],
  variables: GuardrailVariables,
): Weight {
  for (const finding of found) {
    if (!REWRITTEN.has(finding.kind)) return unknown("which texts can be rewritten");
    if (![...kinds].some((kind) => kind === finding.kind)) continue;
    if (select === undefined) return FIRES;
    const watch = new AccessRecorder();
    const outcome = select.evaluate({ ...variables, a: watch.value(finding) });
    if (watch.read !== undefined) return unknown(watch.read);
    if (outcome.kind === "error") return unknown("what it cannot select by");
    if (outcome.value === true) return FIRES;
  }
  return DOES_NOT_FIRE;
}

const FIELDS: Readonly<Record<string, string>> = {
  score: "scores",
  recognizer: "recognizers",
  ref: "places",
  turn: "turns",
  length: "lengths",
};

/** Records which unknown value an expression reads. */
class AccessRecorder {
  read: string | undefined;

  value(finding: KnownFinding): never {
    const slash = finding.type.indexOf("/");
    const value: Record<string, unknown> = {
      type: finding.type,
      category: finding.type.slice(0, slash),
      label: finding.type.slice(slash + 1),
      detector: finding.detector,
    };
    if (finding.kind === "") this.#watch(value, "kind", "kinds of text", "");
    else value["kind"] = finding.kind;
    for (const [name, what] of Object.entries(FIELDS)) this.#watch(value, name, what, name === "score" ? 0 : "");
    return value as never;
  }

  labels(found: readonly KnownFinding[]): Record<string, number> {
    const labels = Object.create(null) as Record<string, number>;
    for (const { type } of found) this.#watch(labels, type, "scores", 0);
    return labels;
  }

  #watch(value: object, name: string, what: string, instead: unknown): void {
    if (Object.hasOwn(value, name)) return;
    Object.defineProperty(value, name, {
      enumerable: true,
      get: () => {
        this.read ??= what;
        return instead;
      },
    });
  }
}
