/**
 * Reads the `config.yaml` of a LiteLLM proxy. Source: docs.litellm.ai, "proxy/configs", "proxy/reliability", "routing".
 *
 * Deployments of one `model_name` become a route: the first serves, then the others stand in, then the deployments of its
 * fallbacks.
 */

import type { Draft, ReaderInput, Route, Step } from "./deployment-draft.ts";
import { claimedNames } from "./exclusive-model-names.ts";
import { type AddNote, type Section, sectionOf, withDefaults } from "./foreign-source.ts";
import { type Deployment, litellmDeployment } from "./litellm-deployment.ts";
import { litellmGuardrails } from "./litellm-guardrails.ts";
import { litellmMcp, litellmSettings, type Settings } from "./litellm-settings.ts";

interface Group {
  readonly name: string;
  readonly at: number;
  readonly path: Route["path"];
  readonly deployments: Step[];
}

export function readLitellm(reading: ReaderInput): Draft {
  const { root, addNote } = reading.source;
  const settings = litellmSettings(reading);
  const groups = new Map<string, Group>();
  for (const section of root.sections("model_list")) addDeployment(section, settings, groups, reading);
  const routes = [...groups.values()].map(
    (group): Route => ({
      name: group.name,
      at: group.at,
      path: group.path,
      steps: [
        ...group.deployments,
        ...fallbacksOf(group.name, settings).flatMap((name) => groups.get(name)?.deployments ?? []),
      ],
    }),
  );
  for (const { alias, group, at, path } of settings.aliases) {
    const target = routes.find(({ name }) => name === group);
    if (target === undefined) addNote(at, path, "left out: no entry of `model_list` has this name");
    else routes.push({ ...target, name: alias, at, path });
  }
  for (const { to, at, path } of settings.fallbacks) {
    if (to.some((name) => !groups.has(name)))
      addNote(at, path, "imported in part: one of the models is not in `model_list`, or was left out");
  }
  const guards = litellmGuardrails(reading);
  const mcp = litellmMcp(reading);
  for (const entry of root.has("credential_list") ? root.sections("credential_list") : []) {
    entry.ignore("credential_name", "credential_values", "credential_info");
    entry.noteUnread({}, "left out: no counterpart");
  }
  root.noteUnread(ROOT_ADVICE, "left out: no counterpart");
  return {
    routes: routes.flatMap((route) => withoutPrefix(route, addNote)),
    ...guards,
    mcp,
    auth: settings.auth,
    maxBodyBytes: settings.maxBodyBytes,
    budgets: settings.budgets,
    profiles: () => settings.profiles,
  };
}

/** Converts routes such as `openai/*` that send `*`. LiteLLM removes the prefix, so here clients ask for the name without it. */
function withoutPrefix(route: Route, addNote: AddNote): readonly Route[] {
  const { name = "", steps } = route;
  const sent = steps[0]?.model ?? "";
  const prefix = name.slice(0, -sent.length);
  if (!sent.endsWith("*") || !prefix.endsWith("/") || name !== prefix + sent) return [route];
  const open = claimedNames(steps[0]?.endpoint.preset, prefix.slice(0, -1));
  const names = sent === "*" ? open.names : [sent];
  const message = `clients ask for \`${name}\`, and a pattern cannot remove the prefix. Let clients ask for \`${sent}\`, or add each model to \`model_aliases\``;
  addNote(route.at, route.path, sent === "*" ? open.note : message);
  const renamedSteps = steps.map((step) => (step.model === sent ? { ...step, model: undefined } : step));
  return names.map((alias) => ({ ...route, name: alias, steps: renamedSteps }));
}

const fallbacksOf = (name: string, { fallbacks, defaultFallbacks }: Settings): readonly string[] => {
  const modelFallbacks = fallbacks.filter(({ from }) => from === name).flatMap(({ to }) => to);
  return (modelFallbacks.length > 0 ? modelFallbacks : defaultFallbacks).filter((it) => it !== name);
};

/** Returns `litellm_params` with the values of the entry of `credential_list` that `litellm_credential_name` names. */
function withCredential(deployment: Section, { source: { root, tracker } }: ReaderInput): Section | undefined {
  const params = deployment.section("litellm_params");
  const name = params?.text("litellm_credential_name");
  if (params === undefined || name === undefined) return params;
  const credentials = root.sections("credential_list");
  const named = credentials.find((it) => it.text("credential_name") === name);
  const [parameters, values] = [deployment.tree("litellm_params"), named?.tree("credential_values")];
  if (named !== undefined && parameters?.kind === "map" && values?.kind === "map") {
    const inheritedKeys = [...values.entries.keys()].filter((key) => !parameters.entries.has(key));
    const inheritedPaths = new Map(inheritedKeys.map((key) => [key, [...named.path, "credential_values", key]]));
    return sectionOf(withDefaults(parameters, values), params.path, tracker, inheritedPaths);
  }
  params.addNote(
    "litellm_credential_name",
    "no entry of `credential_list` has this name; set `api_key` of the provider",
  );
  return params;
}

function addDeployment(section: Section, settings: Settings, groups: Map<string, Group>, reading: ReaderInput): void {
  const name = section.text("model_name");
  const params = withCredential(section, reading);
  if (name === undefined || params === undefined) {
    reading.source.addNote(section.at, section.path, "left out: a deployment needs `model_name` and `litellm_params`");
    return;
  }
  section.leaveOutKey(
    "model_info",
    "left out: the catalog has these facts; prices can be part of the CEL cost of a budget",
  );
  section.noteUnread({}, "left out: no counterpart");
  const deployment: Deployment | undefined = litellmDeployment(params, settings, reading);
  if (deployment === undefined) {
    reading.source.leaveOut(section.path);
    return;
  }
  const step: Step = { ...deployment, line: reading.source.lineOf(section.at), unit: section.path };
  const group = groups.get(name);
  if (group === undefined) {
    groups.set(name, {
      name,
      at: section.offsetOf("model_name"),
      path: [...section.path, "model_name"],
      deployments: [step],
    });
    return;
  }
  group.deployments.push(step);
  section.addNote(
    "model_name",
    "a further deployment of this name becomes a failover target, because load is not spread; use a `pool` for several servers of your own",
  );
}

const ROOT_ADVICE: Readonly<Record<string, string>> = {
  environment_variables: "left out, and not copied; set them in the environment of the gateway",
  files_settings: "left out: requests for files go to the provider of the model, or to `default_provider`",
  finetune_settings: "left out: requests for fine-tuning go to the provider of the model, or to `default_provider`",
  include: "left out: import each of these files separately",
  vector_store_registry: "left out: requests for vector stores are forwarded to the provider",
  prompts: "left out: the gateway stores no prompts",
};
