/**
 * A config object of Portkey, as its header takes it. Facts: the validator of its open gateway, and portkey.ai,
 * "product/ai-gateway/configs".
 *
 * The tree of targets becomes one list: the first serves, the others are failed over to. A target that sends a model of its
 * own gives the name that clients ask for; without one they ask for what they like.
 */

import type { Draft, Reading, Route, Step } from "./draft.ts";
import { portkeyGuardrails } from "./portkey-guardrails.ts";
import { type Inherited, inheritedOf, portkeyStep } from "./portkey-target.ts";
import { type Section, sectionOf, textOf } from "./source.ts";

/** What a name of a target stands for: one upstream, or those of the targets within it. */
type Named = Map<string, readonly Step[]>;

/** Targets may stand within targets; documents are nested no deeper than 64 levels as it is. */
export function readPortkey(reading: Reading): Draft {
  const { root } = reading.foreign;
  const guards = portkeyGuardrails(reading);
  const conditions = conditionsOf(root, reading);
  const named: Named = new Map();
  const chain = stepsOf(root, {}, reading, named, true);
  const routes: Route[] = conditions.flatMap(({ models, then, at, path }) => {
    const steps = named.get(then) ?? [];
    if (steps.length > 0) return models.map((name) => ({ name, steps, at, path }));
    reading.foreign.tell(at, path, "left out: no target has the name of `then`, or none that could be carried over");
    return [];
  });
  const otherwise = defaultOf(root);
  const rest = conditions.length === 0 ? chain : (named.get(otherwise ?? "") ?? []);
  if (conditions.length > 0 && otherwise !== undefined && rest.length === 0)
    root.tell("strategy", "its `default` is left out: no target has that name, or none that could be carried over");
  const [first] = rest;
  if (first !== undefined) {
    const at = root.placeOf("targets");
    if (first.model !== undefined && rest.length > 0)
      root.tell(
        root.has("targets") ? "targets" : "override_params",
        "its model takes the place of whatever a client asks for; here clients ask for that model",
      );
    routes.push({
      name: first.model ?? "*",
      steps: first.model === undefined ? rest.map((step) => ({ ...step, model: undefined })) : rest,
      at,
      path: root.has("targets") ? ["targets"] : [],
    });
    if (first.model === undefined && rest.some(({ model }) => model !== undefined)) {
      root.tell(
        "targets",
        "targets behind the first send models of their own, whatever was asked for: write `model_aliases` for the names that clients use",
      );
    }
  }
  root.rest(ROOT_ADVICE, "left out: no counterpart");
  return { routes, ...guards };
}

function defaultOf(root: Section): string | undefined {
  return root.section("strategy")?.text("default");
}

function stepsOf(section: Section, above: Inherited, reading: Reading, named: Named, isRoot = false): readonly Step[] {
  const steps = stepsWithin(section, above, reading, named, isRoot);
  const name = section.text("name");
  if (!isRoot && name !== undefined && !named.has(name)) named.set(name, steps);
  return steps;
}

function stepsWithin(
  section: Section,
  above: Inherited,
  reading: Reading,
  named: Named,
  isRoot: boolean,
): readonly Step[] {
  const inherited = inheritedOf(section, above);
  const targets = section.has("targets") ? section.sections("targets") : [];
  const mode = strategyOf(section);
  if (targets.length === 0) {
    const step = portkeyStep(section, inherited, reading);
    return step === undefined ? [] : [step];
  }
  if (mode === "loadbalance")
    section.tell("strategy", "load is not spread by weights: the heaviest target serves, the others when it fails");
  if (mode === "conditional" && !isRoot)
    section.tell("strategy", "conditions below the first level are left out: its targets are tried in order");
  const ordered =
    mode === "loadbalance"
      ? [...targets].sort((a, b) => (b.number("weight") ?? 1) - (a.number("weight") ?? 1))
      : targets;
  const steps = ordered.flatMap((target) => stepsOf(target, inherited, reading, named));
  for (const target of targets) for (const label of ["weight", "name"]) target.tree(label);
  for (const target of targets) target.rest(TARGET_ADVICE, "left out: no counterpart");
  return steps;
}

function strategyOf(section: Section): string | undefined {
  const strategy = section.section("strategy");
  if (strategy?.has("on_status_codes") === true) {
    const codes = strategy.tree("on_status_codes");
    const others = codes?.kind === "list" && codes.items.some((item) => !/^(429|5\d\d)$/.test(textOf(item) ?? ""));
    strategy.tell(
      "on_status_codes",
      `failover reacts to connections that fail, 429 and every 5xx${others ? "; other codes are left out" : ""}`,
    );
  }
  return strategy?.text("mode");
}

interface Condition {
  readonly models: readonly string[];
  readonly then: string;
  readonly at: number;
  readonly path: Section["path"];
}

/** Those over the model that was asked for. */
function conditionsOf(root: Section, reading: Reading): readonly Condition[] {
  const strategy = root.section("strategy");
  if (strategy?.text("mode") !== "conditional") return [];
  return strategy.sections("conditions").flatMap((condition) => {
    const then = condition.text("then") ?? "";
    const query = condition.section("query");
    const models = query?.keys.length === 1 ? modelsIn(query, reading) : [];
    if (models.length > 0) return [{ models, then, at: condition.at, path: condition.path }];
    condition.tell(
      "query",
      "left out: the name of the model decides who serves it, and nothing else; access rules may deny by who calls",
    );
    return [];
  });
}

function modelsIn(query: Section, reading: Reading): readonly string[] {
  const { tell } = reading.foreign;
  if (query.has("$or")) {
    const each = query.sections("$or").map((it) => (it.keys.length === 1 ? modelsIn(it, reading) : []));
    return each.some((models) => models.length === 0) ? [] : each.flat();
  }
  const tree = query.tree("params.model");
  if (tree === undefined) return [];
  if (tree.kind !== "map") return [textOf(tree) ?? ""].filter((it) => it !== "");
  const operator = sectionOf(tree, [...query.path, "params.model"], tell);
  if (operator.keys.length !== 1) return [];
  return operator.has("$eq") ? operator.texts("$eq") : operator.has("$in") ? operator.texts("$in") : [];
}

const ROOT_ADVICE: Readonly<Record<string, string>> = {
  plugins_enabled: "left out: guardrails are `guardrails`",
  credentials: "left out, and not copied: they are for plugins",
  cache: "left out: answers are not cached",
  forward_headers: "left out: headers of clients go on as they are, but for credentials",
  metadata: "left out: `metadata` of a virtual key, which rules read as `key.metadata`",
  override_params: "left out: parameters are the client's",
  config: "left out: save the object that it holds as a file of its own, and import that",
  aws_auth_type: "left out: the platform's own chain of credentials is used; set the role there",
  aws_role_arn: "left out: the platform's own chain of credentials is used; set the role there",
  aws_external_id: "left out: the platform's own chain of credentials is used; set the role there",
  vertex_service_account_json: "left out, and not copied: tokens of Google Cloud are not fetched here",
};

const TARGET_ADVICE: Readonly<Record<string, string>> = {
  ...ROOT_ADVICE,
  input_guardrails: "left out: guardrails hold for all targets; write it beside the targets",
  output_guardrails: "left out: guardrails hold for all targets; write it beside the targets",
  before_request_hooks: "left out: guardrails hold for all targets; write it beside the targets",
  after_request_hooks: "left out: guardrails hold for all targets; write it beside the targets",
};
