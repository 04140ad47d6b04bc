/**
 * Warnings about rules that, as far as the configuration shows, can never match or are never reached. They are not errors,
 * since the gateway can apply such rules.
 */

import { closestName } from "../../../base/index.ts";
import type { Comparison } from "../cel/index.ts";
import { type CompiledRule, type RuleProblem, withPosition } from "./access-rule.ts";
import type { Hop } from "./hop-variables.ts";

/** Names that exist. If a list is absent, nothing is reported about its names. */
export interface KnownNames {
  readonly providers?: readonly string[];
  /** Names of `mcp[]`. */
  readonly servers?: readonly string[];
  /** Names of `a2a[]`. */
  readonly peers?: readonly string[];
  /** Names and trailing-`*` prefixes that are routed; absent if a default provider takes every model. */
  readonly models?: readonly string[];
  /** Names of models as sent to providers; absent if `models` is. */
  readonly upstreamModels?: readonly string[];
  /** Issuers of `auth`. */
  readonly issuers?: readonly string[];
  readonly routes?: readonly string[];
}

const ROLES = ["ROLE_USER", "ROLE_AGENT"];

interface KnownNameList {
  readonly noun: string;
  readonly names: readonly string[] | undefined;
}

function nameListOf(path: string, known: KnownNames): KnownNameList | undefined {
  switch (path) {
    case "provider":
    case "provider.name":
      return { noun: "provider", names: known.providers };
    case "server":
      return { noun: "MCP server", names: known.servers };
    case "peer":
      return { noun: "agent", names: known.peers };
    case "model":
      return { noun: "routed model", names: known.models };
    case "upstream_model":
      return { noun: "model sent to a provider", names: known.upstreamModels };
    case "agent.issuer":
    case "user.issuer":
      return { noun: "issuer", names: known.issuers };
    case "route":
      return { noun: "route", names: known.routes };
    case "role":
      return { noun: "role", names: ROLES };
    default:
      return undefined;
  }
}

/** Returns the warnings for the rules of one list, in order. An element is `undefined` if the rule did not compile. */
export function listWarnings(rules: readonly (CompiledRule | undefined)[], known: KnownNames): readonly RuleProblem[] {
  /** Name of the first rule that matches every request, by traffic type. */
  const closedBy = new Map<Hop, string>();
  return rules.flatMap((compiled, index) => {
    if (compiled === undefined) return [];
    const messages = ruleMessages(compiled, known);
    const closing = compiled.hops.map((hop) => closedBy.get(hop));
    if (closing.length > 0 && closing.every((name) => name !== undefined)) {
      messages.add(`is never reached: rule \`${closing[0]}\` before it always matches`);
    }
    for (const hop of compiled.hops) {
      if (compiled.conditions[hop]?.constant === true && !closedBy.has(hop)) closedBy.set(hop, compiled.rule.name);
    }
    const path = [index, "condition"];
    return [...messages].map((message) => ({ severity: "warning" as const, path, message }));
  });
}

function ruleMessages({ rule, hops, conditions }: CompiledRule, known: KnownNames): Set<string> {
  const messages = new Set<string>();
  for (const hop of hops) {
    const condition = conditions[hop];
    if (condition === undefined) continue;
    if (condition.constant === false) {
      messages.add("is always false: the rule never matches");
      continue;
    }
    for (const comparison of condition.comparisons) {
      for (const message of unknownNames(comparison, known)) {
        messages.add(withPosition({ ...comparison, message }, rule.condition));
      }
    }
  }
  return messages;
}

function unknownNames({ path, how, texts, isDemanded }: Comparison, known: KnownNames): readonly string[] {
  const naming = nameListOf(path, known);
  if (naming?.names === undefined) return [];
  const { noun, names } = naming;
  const missing = texts.filter(
    (text) => !names.some((name) => (how === "equals" ? matchesName(text, name) : mayBeginName(text, name))),
  );
  const never = isDemanded && missing.length === texts.length ? ": the rule never matches" : "";
  return missing.map((text) => {
    const guess = closestName(text, names);
    const hint = guess === undefined ? "" : `, did you mean \`${guess}\`?`;
    const what = how === "equals" ? `there is no ${noun} \`${text}\`` : `no ${noun} begins with \`${text}\``;
    return `${what}${hint}${never}`;
  });
}

const prefixOf = (name: string): string | undefined => (name.endsWith("*") ? name.slice(0, -1) : undefined);

function matchesName(text: string, name: string): boolean {
  const prefix = prefixOf(name);
  return prefix === undefined ? text === name : text.startsWith(prefix);
}

function mayBeginName(text: string, name: string): boolean {
  const prefix = prefixOf(name);
  return prefix === undefined ? name.startsWith(text) : prefix.startsWith(text) || text.startsWith(prefix);
}
