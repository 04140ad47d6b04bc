/**
 * Converts `governance.routing_rules` that test only the model name: the name becomes a route to the targets by descending weight,
 * then to the fallbacks. Source: the published schema, "routing_rule".
 */

import type { ReaderInput, Route, Step } from "./deployment-draft.ts";
import { type Section, textOf } from "./foreign-source.ts";

const BY_NAME = /^\s*model\s*==\s*(?:"([^"\\]+)"|'([^'\\]+)')\s*$/;

export function ruleRoutes(routes: readonly Route[], { source: { root, leaveOut } }: ReaderInput): readonly Route[] {
  const rules = root.section("governance")?.sections("routing_rules") ?? [];
  return rules.flatMap((rule): readonly Route[] => {
    const [, double, single] = BY_NAME.exec(rule.text("cel_expression") ?? "") ?? [];
    const name = double ?? single;
    const scope = rule.text("scope") ?? "global";
    if (name === undefined || scope !== "global" || rule.flag("enabled") === false) {
      rule.addNote(
        "cel_expression",
        "left out: only the model name chooses the provider, for all callers; only rules of the form `model == NAME` can be imported",
      );
      leaveOut(rule.path);
      return [];
    }
    const targets = rule.sections("targets").map((target) => {
      const steps = stepsOf(routes, target.text("provider"), target.text("model") ?? name, target);
      const weight = target.number("weight") ?? 0;
      target.noteUnread({}, "left out: no counterpart");
      return { weight, steps };
    });
    if (targets.length > 1)
      rule.addNote(
        "targets",
        "load is not spread by weight; the heaviest target serves, and the others take over when it fails",
      );
    const heaviest = [...targets].sort((a, b) => b.weight - a.weight);
    const behind = fallbackNames(rule).map((it) => routes.find((route) => route.name === it)?.steps);
    if (behind.includes(undefined))
      rule.addNote("fallbacks", "left out in part: no key of its provider lists the model");
    const fallbacks = behind.flatMap((it) => it ?? []);
    rule.ignore("id", "name", "description", "priority");
    rule.noteUnread({}, "left out: no counterpart");
    const steps = [...heaviest.flatMap((target) => target.steps), ...fallbacks];
    return steps.length === 0 ? [] : [{ name, steps, at: rule.at, path: rule.path }];
  });
}

function stepsOf(
  routes: readonly Route[],
  provider: string | undefined,
  model: string,
  target: Section,
): readonly Step[] {
  const found = routes.find(({ name }) => name === `${provider}/${model}`)?.steps;
  if (found === undefined) target.addNote("model", "left out: no key of this provider lists the model");
  return found ?? [];
}

function fallbackNames(rule: Section): readonly string[] {
  const tree = rule.tree("fallbacks");
  return tree?.kind === "list" ? tree.items.flatMap((item) => textOf(item) ?? []) : [];
}
