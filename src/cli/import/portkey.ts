/**
 * Reads a config object of Portkey, as its header contains it. Source: the validator of its open gateway, and portkey.ai,
 * "product/ai-gateway/configs".
 *
 * The tree of targets becomes one list: the first serves, and the others stand in when it fails. Clients ask for the model of the
 * first target, or for any model if it has none.
 */

import type { Draft, ReaderInput, Route, Step } from "./deployment-draft.ts";
import { type Section, sectionOf, textOf } from "./foreign-source.ts";
import { portkeyGuardrails } from "./portkey-guardrails.ts";
import { type Inherited, inheritedOf, portkeyStep } from "./portkey-target.ts";

/** Upstreams of a target, or of the targets within it, by name. */
type StepsByName = Map<string, readonly Step[]>;

/** Reads a config object. Targets can contain targets; their depth is bounded by the 64 levels of a document. */
export function readPortkey(reading: ReaderInput): Draft {
  const { root } = reading.source;
  const guards = portkeyGuardrails(reading);
  const conditions = conditionsOf(root, reading);
  const named: StepsByName = new Map();
  const chain = stepsOf(root, {}, reading, named, true);
  const routes: Route[] = conditions.flatMap(({ models, targetName, at, path }) => {
    const steps = named.get(targetName) ?? [];
    if (steps.length > 0) return models.map((name) => ({ name, steps, at, path }));
    reading.source.addNote(at, path, "left out: no imported target has the name in `then`");
    return [];
  });
  const otherwise = defaultOf(root);
  const rest = conditions.length === 0 ? chain : (named.get(otherwise ?? "") ?? []);
  if (conditions.length > 0 && otherwise !== undefined && rest.length === 0)
    root.addNote("strategy", "its `default` is not imported; no imported target has that name");
  const [first] = rest;
  if (first !== undefined) {
    const at = root.offsetOf("targets");
    if (first.model !== undefined && rest.length > 0)
      root.addNote(
        root.has("targets") ? "targets" : "override_params",
        "its model replaces the model that a client asks for; let clients ask for this model",
      );
    routes.push({
      name: first.model ?? "*",
      steps: first.model === undefined ? rest.map((step) => ({ ...step, model: undefined })) : rest,
      at,
      path: root.has("targets") ? ["targets"] : [],
    });
    if (first.model === undefined && rest.some(({ model }) => model !== undefined)) {
      root.addNote(
        "targets",
        "later targets always send a model of their own; add `model_aliases` for the names that clients use",
      );
    }
  }
  root.noteUnread(ROOT_ADVICE, "left out: no counterpart");
  return { routes, ...guards };
}

function defaultOf(root: Section): string | undefined {
  return root.section("strategy")?.text("default");
}

function stepsOf(
  section: Section,
  above: Inherited,
  reading: ReaderInput,
  named: StepsByName,
  isRoot = false,
): readonly Step[] {
  const steps = stepsWithin(section, above, reading, named, isRoot);
  const name = section.text("name");
  if (!isRoot && name !== undefined && !named.has(name)) named.set(name, steps);
  return steps;
}

function stepsWithin(
  section: Section,
  above: Inherited,
  reading: ReaderInput,
  named: StepsByName,
  isRoot: boolean,
): readonly Step[] {
  const inherited = inheritedOf(section, above);
  const targets = section.has("targets") ? section.sections("targets") : [];
  const mode = strategyOf(section);
  if (targets.length === 0) {
    const step = portkeyStep(section, inherited, reading);
    if (step === undefined && !isRoot) reading.source.leaveOut(section.path);
    return step === undefined ? [] : [step];
  }
  if (mode === "loadbalance")
    section.addNote(
      "strategy",
      "load is not spread by weight; the heaviest target serves, and the others take over when it fails",
    );
  if (mode === "conditional" && !isRoot)
    section.addNote("strategy", "conditions below the first level are not imported; the targets are tried in order");
  const ordered =
    mode === "loadbalance"
      ? [...targets].sort((a, b) => (b.number("weight") ?? 1) - (a.number("weight") ?? 1))
      : targets;
  const steps = ordered.flatMap((target) => stepsOf(target, inherited, reading, named));
  for (const target of targets) target.ignore("weight", "name");
  for (const target of targets) target.noteUnread(TARGET_ADVICE, "left out: no counterpart");
  return steps;
}

function strategyOf(section: Section): string | undefined {
  const strategy = section.section("strategy");
  if (strategy?.has("on_status_codes") === true) {
    const codes = strategy.tree("on_status_codes");
    const others = codes?.kind === "list" && codes.items.some((item) => !/^(429|5\d\d)$/.test(textOf(item) ?? ""));
    strategy.addNote(
      "on_status_codes",
      `failover reacts to failed connections, 429 and every 5xx${others ? "; other codes are not imported" : ""}`,
    );
  }
  return strategy?.text("mode");
}

interface Condition {
  readonly models: readonly string[];
  readonly targetName: string;
  readonly at: number;
  readonly path: Section["path"];
}

/** Returns the conditions that test the requested model. */
function conditionsOf(root: Section, reading: ReaderInput): readonly Condition[] {
  const strategy = root.section("strategy");
  if (strategy?.text("mode") !== "conditional") return [];
  return strategy.sections("conditions").flatMap((condition) => {
    const targetName = condition.text("then") ?? "";
    const query = condition.section("query");
    const models = query?.keys.length === 1 ? modelsIn(query, reading) : [];
    if (models.length > 0) return [{ models, targetName, at: condition.at, path: condition.path }];
    condition.addNote(
      "query",
      "left out: only the model name chooses the provider; access rules can deny requests by caller",
    );
    return [];
  });
}

function modelsIn(query: Section, reading: ReaderInput): readonly string[] {
  const { tracker } = reading.source;
  if (query.has("$or")) {
    const each = query.sections("$or").map((it) => (it.keys.length === 1 ? modelsIn(it, reading) : []));
    return each.some((models) => models.length === 0) ? [] : each.flat();
  }
  const tree = query.tree("params.model");
  if (tree === undefined) return [];
  if (tree.kind !== "map") return [textOf(tree) ?? ""].filter((it) => it !== "");
  const operator = sectionOf(tree, [...query.path, "params.model"], tracker);
  if (operator.keys.length !== 1) return [];
  return operator.has("$eq") ? operator.texts("$eq") : operator.has("$in") ? operator.texts("$in") : [];
}

const ROOT_ADVICE: Readonly<Record<string, string>> = {
  plugins_enabled: "left out: guardrails belong under `guardrails`",
  credentials: "left out: these are credentials of plugins, and no secret is copied",
  cache: "left out: the gateway does not cache answers",
  forward_headers: "left out: headers of clients are forwarded, except credentials",
  metadata: "left out: set `metadata` of a virtual key, which rules read as `key.metadata`",
  override_params: "left out: the gateway adds no parameters to requests; let clients send them",
  config: "left out: save this object as a file and import that",
  aws_auth_type: "left out: the credentials of the platform are used; set the role there",
  aws_role_arn: "left out: the credentials of the platform are used; set the role there",
  aws_external_id: "left out: the credentials of the platform are used; set the role there",
  vertex_service_account_json: "left out, and not copied: the gateway fetches no Google Cloud tokens",
};

const TARGET_ADVICE: Readonly<Record<string, string>> = {
  ...ROOT_ADVICE,
  input_guardrails: "left out: guardrails apply to all targets; move it beside `targets` and import again",
  output_guardrails: "left out: guardrails apply to all targets; move it beside `targets` and import again",
  before_request_hooks: "left out: guardrails apply to all targets; move it beside `targets` and import again",
  after_request_hooks: "left out: guardrails apply to all targets; move it beside `targets` and import again",
};
