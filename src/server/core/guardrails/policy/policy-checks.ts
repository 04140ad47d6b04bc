/** Checks rules against the ensemble, and reports rules that would do nothing, leak, or refuse everything. */

import { closestName } from "../../../../base/index.ts";
import type { Expression, Mention } from "../../cel/index.ts";
import {
  CATEGORIES,
  type DetectorFacts,
  type Direction,
  type GuardrailProblem,
  type Guardrails,
  type Hop,
  type PolicyFacts,
  SEGMENT_KINDS,
  type SegmentKind,
} from "../index.ts";
import { type CompiledRule, rulePath, withPosition } from "./guardrail-rule.ts";
import { alphabetOf, type Feasibility, feasibilityOf, type OperatorKeys } from "./operators/index.ts";
import { contextOf, typesOf, wouldSelect } from "./sampling.ts";

/** Maximum number of types that one message names. */
const SHOWN = 5;

/** Returns the problems of the compiled rules. */
export function ruleProblems(
  guardrails: Guardrails,
  facts: PolicyFacts,
  rules: readonly CompiledRule[],
  keys: OperatorKeys,
): readonly GuardrailProblem[] {
  const isFeasible = createFeasibilityLookup(facts, keys);
  let closedBy: string | undefined;
  return rules.flatMap((rule) => {
    const read = facts.detectors.filter(({ name }) => rule.requires === undefined || rule.requires.has(name));
    const inline = read.filter(({ mode }) => mode === "inline");
    const problems = [
      ...alphabetProblems(guardrails, rule, inline, isFeasible),
      ...streamProblems(guardrails, rule, inline),
      ...scheduleProblems(guardrails, rule, inline),
      ...unusedKeyProblems(rule),
      ...(closedBy === undefined ? ineffectiveRuleProblems(rule, read, inline) : [unreachableProblem(rule, closedBy)]),
      ...conditionFaultProblems(rule),
      ...nameProblems(facts, rule, inline),
    ];
    if (rule.rule.action === "deny" && rule.when?.constant === true) closedBy ??= rule.rule.name;
    return problems;
  });
}

const warning = ({ index }: CompiledRule, key: string | undefined, message: string): GuardrailProblem => ({
  severity: "warning",
  path: key === undefined ? rulePath(index) : rulePath(index, key),
  message,
});

const formatNames = (names: readonly string[]): string => {
  const shown = names.slice(0, SHOWN).map((name) => `\`${name}\``);
  return names.length > SHOWN ? `${shown.join(", ")} and ${names.length - SHOWN} more` : shown.join(", ");
};

/** Reports types without an alphabet, whose format `fpe` cannot keep. */
function alphabetProblems(
  { fpe_alphabets = {} }: Guardrails,
  rule: CompiledRule,
  detectors: readonly DetectorFacts[],
  feasibility: (label: string) => Feasibility | undefined,
): readonly GuardrailProblem[] {
  if (rule.rule.action !== "redact" || rule.rule.operator !== "fpe") return [];
  const missing = new Set<string>();
  const labels = new Set<string>();
  for (const detector of detectors) {
    for (const type of typesOf(rule, detector)) {
      const label = type.slice(type.indexOf("/") + 1);
      if (!writableKinds(rule, detector).some((kind) => wouldSelect(rule, detector, type, kind))) continue;
      if (alphabetOf(label, fpe_alphabets) === undefined) missing.add(label);
      else labels.add(label);
    }
  }
  const problems = [...labels].flatMap((label): readonly GuardrailProblem[] => {
    const { reason, isPartial } = feasibility(label) ?? {};
    const path = rulePath(rule.index, "operator");
    if (reason !== undefined) {
      const message = `the operator \`fpe\` cannot keep the format of \`${label}\`: ${reason}`;
      return [{ severity: "error", path, message }];
    }
    if (isPartial !== true) return [];
    const message = `some values of \`${label}\` have too few forms for \`fpe\`, and become a pseudonym or the name of the type`;
    return [warning(rule, "operator", message)];
  });
  if (missing.size === 0) return problems;
  const message = `the operator \`fpe\` has no alphabet for ${formatNames([...missing])}: name it in \`guardrails.fpe_alphabets\`, or choose other types by \`select\``;
  return [...problems, { severity: "error", path: rulePath(rule.index, "operator"), message }];
}

/** Returns the feasibility of encryption for types whose alphabet the document defines; tests cover the others. */
function createFeasibilityLookup(
  { formatOf }: PolicyFacts,
  { fpe, alphabets }: OperatorKeys,
): (label: string) => Feasibility | undefined {
  const known = new Map<string, Feasibility | undefined>();
  return (label) => {
    if (!known.has(label)) {
      const alphabet = alphabetOf(label, alphabets);
      const isBuiltIn = !Object.hasOwn(alphabets, label);
      const format = isBuiltIn ? undefined : formatOf?.(label);
      known.set(label, alphabet && fpe && format && feasibilityOf(label, alphabet, fpe, format));
    }
    return known.get(label);
  };
}

const writableKinds = (rule: CompiledRule, { kinds }: DetectorFacts): readonly SegmentKind[] =>
  kinds.filter((kind) => rule.kinds.has(kind));

/** Returns whether the rule applies only to requests, because its condition requires that direction. */
const appliesOnlyToRequests = ({ when }: CompiledRule): boolean =>
  when?.comparisons.some(
    ({ path, how, texts, isDemanded }) =>
      path === "direction" && how === "equals" && isDemanded && !texts.includes("response"),
  ) ?? false;

/** Checks rules against streams. Source: guardrails reference, 5.3. */
function streamProblems(
  { stream }: Guardrails,
  rule: CompiledRule,
  detectors: readonly DetectorFacts[],
): readonly GuardrailProblem[] {
  if ((stream?.policy ?? "window") !== "window" || appliesOnlyToRequests(rule)) return [];
  const { action } = rule.rule;
  const late = detectors.filter(({ kinds, hasHorizon }) => kinds.includes("output") && !hasHorizon);
  if (action === "deny" && late.length > 0) {
    const message = `${formatNames(late.map(({ name }) => name))} can only judge a streamed answer while it is sent: text that was sent before a denial cannot be taken back; \`guardrails.stream.policy: buffer\` holds it back`;
    return [warning(rule, undefined, message)];
  }
  if (action !== "redact" || !rule.kinds.has("output")) return [];
  return late.flatMap((detector) => {
    const types = typesOf(rule, detector);
    const asked = types.length > 0 ? types : [`${CATEGORIES[0]}/`];
    if (!asked.some((type) => wouldSelect(rule, detector, type, "output"))) return [];
    const message = `cannot rewrite what \`${detector.name}\` finds in a streamed answer, since no text is proven clean before its end: set \`guardrails.stream.policy: buffer\`, or leave \`output\` out of \`kinds\``;
    return [{ severity: "error" as const, path: rulePath(rule.index), message }];
  });
}

/**
 * Reports rules that depend on findings which arrive during the request or after it, and are not available at the first
 * evaluation.
 */
function scheduleProblems(
  { overlap }: Guardrails,
  rule: CompiledRule,
  detectors: readonly DetectorFacts[],
): readonly GuardrailProblem[] {
  const late = detectors.filter(
    ({ schedule, kinds }) => schedule !== "sync" && kinds.some((kind) => kind !== "output"),
  );
  if (late.length === 0) return [];
  const found: GuardrailProblem[] = [];
  const tooLate = late.filter(
    (detector) =>
      rule.rule.action === "redact" &&
      detector.schedule === "overlap" &&
      typesOf(rule, detector).some((type) =>
        writableKinds(rule, detector).some((kind) => kind !== "output" && wouldSelect(rule, detector, type, kind)),
      ),
  );
  if (tooLate.length > 0) {
    const effect = overlap?.on_redact === "allow" ? "passes unchanged and is recorded" : "is refused";
    const message = `cannot rewrite a request after it was forwarded: a request in which ${formatNames(tooLate.map(({ name }) => name))} (\`schedule: overlap\`) finds something to rewrite ${effect} (\`guardrails.overlap.on_redact\`)`;
    found.push(warning(rule, undefined, message));
  }
  // With `overlap`, a rule waits for the detectors that it names in `requires`.
  const unawaited = late.filter(({ schedule }) => schedule === "async" || rule.requires === undefined);
  if (rule.rule.action !== "redact" && unawaited.length > 0 && isTrueWithoutFindings(rule)) {
    const message = `is true if nothing was found, and is evaluated before ${formatNames(unawaited.map(({ name }) => name))} has answered: name the detectors that it depends on in \`requires\`, with \`schedule: sync\` or \`overlap\``;
    found.push(warning(rule, "when", message));
  }
  return found;
}

function isTrueWithoutFindings({ when }: CompiledRule): boolean {
  if (when === undefined || when.constant !== undefined || !readsFindingsAlone(when)) return false;
  const outcome = when.evaluate({ ...contextOf("user"), ...NO_FINDINGS });
  return outcome.kind === "value" && outcome.value === true;
}

/** Reports keys that only another action uses. */
function unusedKeyProblems(rule: CompiledRule): readonly GuardrailProblem[] {
  const { action, select, kinds, replacement, message, operator } = rule.rule;
  const found: GuardrailProblem[] = [];
  const reportUnread = (key: string, reader: string): void => {
    found.push(warning(rule, key, `is read only by ${reader}`));
  };
  if (action !== "redact") {
    if (select) reportUnread("select", "a redact rule");
    if (kinds !== undefined) reportUnread("kinds", "a redact rule");
    for (const key of differing(rule.rule, ["operator", ...MASK_KEYS])) reportUnread(key, "a redact rule");
  }
  if (replacement !== undefined && (action !== "redact" || operator !== "replace")) {
    reportUnread("replacement", "a redact rule with `operator: replace`");
  }
  if (action === "redact" && operator !== "mask") {
    for (const key of differing(rule.rule, MASK_KEYS)) reportUnread(key, "a redact rule with `operator: mask`");
  }
  if (message && action !== "deny") reportUnread("message", "a deny rule");
  return found;
}

const MASK_KEYS = ["mask_char", "mask_chars", "from_end"] as const;
const OPERATOR_DEFAULTS = { operator: "replace", mask_char: "*", mask_chars: 0, from_end: false } as const;

/** Returns the options that differ from their default, since only these are known to have been written. */
const differing = (
  rule: Readonly<Record<keyof typeof OPERATOR_DEFAULTS, unknown>>,
  keys: readonly (keyof typeof OPERATOR_DEFAULTS)[],
): readonly (keyof typeof OPERATOR_DEFAULTS)[] => keys.filter((key) => rule[key] !== OPERATOR_DEFAULTS[key]);

const unreachableProblem = (rule: CompiledRule, closedBy: string): GuardrailProblem =>
  warning(rule, undefined, `is never reached: rule \`${closedBy}\` before it always denies`);

const DIRECTIONS: readonly Direction[] = ["request", "response"];
const HOPS: readonly Hop[] = ["llm", "mcp", "a2a", "inspect"];

const NEVER = "the rule never acts";

/** Reports a rule that can never fire, or that has nothing to rewrite. */
function ineffectiveRuleProblems(
  rule: CompiledRule,
  read: readonly DetectorFacts[],
  inline: readonly DetectorFacts[],
): readonly GuardrailProblem[] {
  const { when, select } = rule;
  if (when?.constant === false) return [warning(rule, "when", `is always false: ${NEVER}`)];
  if (select?.constant === false) return [warning(rule, "select", `is always false: ${NEVER}`)];
  const needsFindings = rule.rule.action === "redact" || when === undefined || isFalseWithoutFindings(when);
  if (!needsFindings) return [];
  if (rule.requires?.size === 0) {
    return [warning(rule, "requires", `an empty list sees no finding of any detector: ${NEVER}`)];
  }
  if (inline.length === 0) {
    const problem =
      read.length === 0
        ? "there is no detector to find anything"
        : `${formatNames(read.map(({ name }) => name))} in \`mode: shadow\`, which rules do not see`;
    return [warning(rule, undefined, `${problem}: ${NEVER}`)];
  }
  if (rule.rule.action !== "redact") return [];
  if (inline.some((detector) => writableKinds(rule, detector).length > 0)) return [];
  const message = `its detectors read ${formatNames([...new Set(inline.flatMap(({ kinds }) => kinds))])}, and the rule rewrites none of these kinds: ${NEVER}`;
  return [warning(rule, "kinds", message)];
}

const NO_FINDINGS = { annotations: [], labels: {} };

/** Returns whether the condition reads only findings and is false if there are none. */
function isFalseWithoutFindings(when: Expression): boolean {
  if (!readsFindingsAlone(when)) return false;
  const outcome = when.evaluate({ ...contextOf("user"), ...NO_FINDINGS });
  return outcome.kind === "value" && outcome.value === false;
}

const readsFindingsAlone = ({ reads }: Expression): boolean =>
  reads.length > 0 && reads.every((name) => name === "labels" || name === "annotations");

/**
 * Reports a condition that fails without findings, such as `labels["pii/X"]`: it would refuse every message without that type.
 */
function conditionFaultProblems(rule: CompiledRule): readonly GuardrailProblem[] {
  const { when, failsOpen } = rule;
  if (when === undefined || !readsFindingsAlone(when)) return [];
  const outcome = when.evaluate({ ...contextOf("user"), ...NO_FINDINGS });
  if (outcome.kind !== "error") return [];
  const effect = failsOpen ? "the rule is skipped and the error is logged" : "every such message is refused";
  const message = `cannot be evaluated if nothing was found (${outcome.error.message}), so ${effect}; check \`"<category>/<LABEL>" in labels &&\` first`;
  return [warning(rule, "when", message)];
}

/** Reports unknown names, and suggests the most similar known name. */
function nameProblems(
  { detectors, profiles }: PolicyFacts,
  rule: CompiledRule,
  inline: readonly DetectorFacts[],
): readonly GuardrailProblem[] {
  const profileNames = profiles.map(({ name }) => name);
  const isOpen = inline.some(({ findingTypes }) => findingTypes === undefined);
  const types = isOpen ? undefined : [...new Set(inline.flatMap(({ findingTypes }) => findingTypes ?? []))];
  const labels = types?.map((type) => type.slice(type.indexOf("/") + 1));
  const otherNamespaceOf = (type: string): string | undefined =>
    detectors.find((one) => one.mode === "inline" && !inline.includes(one) && one.findingTypes?.includes(type))?.name;
  const messages = new Map<string, GuardrailProblem>();
  for (const key of ["when", "select"] as const) {
    const named = (rule[key]?.comparisons ?? []).map((one) => ({ ...one, subject: one.path }));
    for (const mention of [...(rule[key]?.mentions ?? []), ...named]) {
      for (const text of mention.texts) {
        const message = unknownNameMessage(mention.subject, mention.how, text);
        if (message === undefined) continue;
        const positioned = withPosition({ ...mention, message }, rule.rule[key] ?? "");
        messages.set(positioned, warning(rule, key, positioned));
      }
    }
  }
  return [...messages.values()];

  function unknownNameMessage(subject: string, how: Mention["how"], text: string): string | undefined {
    switch (subject) {
      case "annotation.type":
      case "labels":
        return unknownMessage("detector that the rule reads gives", text, types, how, otherNamespaceOf(text));
      case "annotation.label":
        return unknownMessage("detector that the rule reads gives", text, labels, how);
      case "annotation.category":
        return unknownMessage("category is called", text, CATEGORIES, how);
      case "annotation.kind":
        return unknownMessage("kind of segment is called", text, SEGMENT_KINDS, how);
      case "annotation.detector":
        return unknownMessage(
          "detector that the rule reads is called",
          text,
          inline.map(({ name }) => name),
          how,
        );
      case "direction":
        return unknownMessage("direction is called", text, DIRECTIONS, how);
      case "hop":
        return unknownMessage("hop is called", text, HOPS, how);
      case "profile":
        return text === "" ? undefined : unknownMessage("profile is called", text, profileNames, how);
      default:
        return undefined;
    }
  }
}

function unknownMessage(
  what: string,
  text: string,
  names: readonly string[] | undefined,
  how: Mention["how"],
  otherNamespaceOf?: string,
): string | undefined {
  if (names === undefined || names.some((name) => (how === "starts" ? name.startsWith(text) : name === text))) {
    return undefined;
  }
  if (otherNamespaceOf !== undefined)
    return `no ${what} \`${text}\`; \`${otherNamespaceOf}\` does: name it in \`requires\``;
  const guess = closestName(text, names);
  return `no ${what} \`${text}\`${guess === undefined ? "" : `, did you mean \`${guess}\`?`}`;
}
