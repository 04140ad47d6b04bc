/**
 * Reads Bifrost's `config.json`. Source: docs.getbifrost.ai, "deployment-guides/config-json", and its published schema.
 *
 * Clients ask for `provider/model`. Each named model of a provider becomes a route of that name, and the keys of the provider
 * stand in for each other in their order. A pattern cannot remove the prefix for a key that serves all models, so it claims the
 * names that only this provider has.
 */

import { bifrostCallers } from "./bifrost-callers.ts";
import { bifrostEndpoint } from "./bifrost-endpoint.ts";
import { ruleRoutes } from "./bifrost-rules.ts";
import type { Draft, Endpoint, ReaderInput, Route } from "./deployment-draft.ts";
import { claimedNames } from "./exclusive-model-names.ts";
import { type Section, sectionOf } from "./foreign-source.ts";
import { megabytes } from "./litellm-settings.ts";
import { mcpEntries } from "./mcp-server-entries.ts";

interface Key {
  readonly section: Section;
  /** Models that the key serves; `undefined` for all. */
  readonly models: ReadonlySet<string> | undefined;
  /** Model names to send to the provider, by requested name. */
  readonly sent: ReadonlyMap<string, string>;
  readonly line: number;
  readonly endpointFor: (model: string | undefined) => Endpoint | undefined;
}

export function readBifrost(reading: ReaderInput): Draft {
  const { root } = reading.source;
  root.ignore("$schema");
  const emptyMeansAll = root.number("version") === 1;
  const client = root.section("client");
  const providers = root.section("providers");
  const requestedModels = requestedModelsOf(root);
  const served = new Map(
    (providers?.keys ?? []).map((name) => {
      const section = providers?.section(name);
      const requestedHere = requestedModels.get(name) ?? new Set();
      return [
        name,
        section === undefined ? [] : routesOf(name, section, requestedHere, emptyMeansAll, reading),
      ] as const;
    }),
  );
  const routes = [...served.values()].flat();
  routes.push(...ruleRoutes(routes, reading));
  const enforced = ["enforce_auth_on_inference", "enforce_governance_header"].map((key) => client?.flag(key));
  enforced.push(pluginRequiresKeys(root));
  const callers = bifrostCallers(reading, { enforced: enforced.includes(true), emptyMeansAll, served });
  const maxBodyBytes = client && megabytes(client, "max_request_body_size_mb");
  client?.noteUnread(CLIENT_ADVICE, "left out: no counterpart");
  const mcp = mcpOf(reading);
  root.noteUnread(ROOT_ADVICE, "left out: no counterpart");
  return { routes, maxBodyBytes, mcp, ...callers };
}

/** Returns whether the plugin `governance` requires a virtual key, which older files set there. */
function pluginRequiresKeys(root: Section): boolean {
  return (root.has("plugins") ? root.sections("plugins") : [])
    .map((plugin) => {
      const isGovernance = plugin.text("name") === "governance" && plugin.flag("enabled") !== false;
      const config = plugin.section("config");
      const isRequired = isGovernance && config?.flag("is_vk_mandatory") === true;
      config?.noteUnread({}, PLUGIN_ADVICE);
      if (!isGovernance) plugin.addNote("name", PLUGIN_ADVICE);
      plugin.noteUnread({}, "left out: no counterpart");
      return isRequired;
    })
    .includes(true);
}

const PLUGIN_ADVICE = "left out: guardrails belong under `guardrails`, and traces and metrics are exported by OTLP";

/** Returns the models that callers and rules name, by provider. A key for all models serves them as `provider/model`. */
function requestedModelsOf(root: Section): ReadonlyMap<string, ReadonlySet<string>> {
  const asked = new Map<string, Set<string>>();
  const add = (provider: string | undefined, model: string | undefined): void => {
    if (provider === undefined || model === undefined || model === "" || model.includes("*")) return;
    asked.set(provider, (asked.get(provider) ?? new Set()).add(model));
  };
  const governance = root.section("governance");
  for (const key of governance?.sections("virtual_keys") ?? []) {
    for (const config of key.sections("provider_configs"))
      for (const model of config.texts("allowed_models")) add(config.text("provider"), model);
  }
  for (const rule of governance?.sections("routing_rules") ?? []) {
    for (const target of rule.sections("targets")) add(target.text("provider"), target.text("model"));
    for (const name of rule.texts("fallbacks")) {
      const slash = name.indexOf("/");
      if (slash > 0) add(name.slice(0, slash), name.slice(slash + 1));
    }
  }
  return asked;
}

function routesOf(
  name: string,
  section: Section,
  asked: ReadonlySet<string>,
  emptyMeansAll: boolean,
  reading: ReaderInput,
): readonly Route[] {
  const connect = bifrostEndpoint(name, section, reading);
  const written = section.sections("keys");
  section.noteUnread(PROVIDER_ADVICE, "left out: no counterpart");
  if (connect === undefined) {
    reading.source.leaveOut(section.path);
    return [];
  }
  const keys = (written.length > 0 ? written : [section]).flatMap((key): readonly Key[] => {
    if (key !== section && key.flag("enabled") === false) {
      key.addNote("enabled", "left out: the key is disabled");
      reading.source.leaveOut(key.path);
      return [];
    }
    return [keyOf(key, key === section, emptyMeansAll, connect, reading)];
  });
  if (keys.length > 1)
    section.addNote(
      "keys",
      "load is not spread over the keys; the first serves, and the next ones take over when it fails",
    );
  const isOpen = keys.some(({ models }) => models === undefined);
  const names = new Set([
    ...keys.flatMap(({ models, sent }) => [...(models ?? []), ...sent.keys()]),
    ...(isOpen ? asked : []),
  ]);
  const path = [...section.path];
  const named = [...names].flatMap((model): readonly Route[] => {
    const steps = keys.flatMap(({ models, sent, line, section: { path: unit }, endpointFor }) => {
      const endpoint =
        models === undefined || models.has(model) || sent.has(model)
          ? endpointFor(sent.get(model) ?? model)
          : undefined;
      return endpoint === undefined ? [] : [{ endpoint, model: sent.get(model) ?? model, line, unit }];
    });
    return steps.length === 0 ? [] : [{ name: `${name}/${model}`, steps, at: section.at, path }];
  });
  const all = keys.filter(({ models }) => models === undefined);
  return [...named, ...(all.length === 0 ? [] : openRoutes(name, section, all))];
}

/** Returns the routes of keys that serve all models. */
function openRoutes(name: string, section: Section, keys: readonly Key[]): readonly Route[] {
  const steps = keys.flatMap(({ endpointFor, line, section: { path: unit } }) => {
    const endpoint = endpointFor(undefined);
    return endpoint === undefined ? [] : [{ endpoint, model: undefined, line, unit }];
  });
  const { names, note } = claimedNames(steps[0]?.endpoint.preset, name);
  section.addNote("keys", note);
  return names.map((family) => ({ name: family, steps, at: section.at, path: section.path }));
}

function keyOf(
  section: Section,
  isKeyless: boolean,
  emptyMeansAll: boolean,
  connect: NonNullable<ReturnType<typeof bifrostEndpoint>>,
  reading: ReaderInput,
): Key {
  const line = reading.source.lineOf(section.at);
  if (isKeyless)
    return { section, models: undefined, sent: new Map(), line, endpointFor: connect(undefined).endpointFor };
  const { endpointFor, deployments, onlyModel: only } = connect(section);
  const listed = section.texts("models");
  const aliases = section.section("aliases");
  const sent = new Map([
    ...(deployments === undefined ? [] : textsIn(deployments)),
    ...(aliases === undefined ? [] : textsIn(aliases)),
  ]);
  const isAll = listed.includes("*") || (listed.length === 0 && (emptyMeansAll || !section.has("models")));
  if (listed.length === 0 && !isAll)
    section.addNote(
      "models",
      'an empty list allows no model from Bifrost 1.5 on; if the file is older, where it allows all, add `"version": 1` and import again',
    );
  if (isAll && sent.size > 0)
    section.addNote(
      "models",
      "serves all models, but only those with an alias or deployment are imported; add the others by hand",
    );
  section.ignore("id", "name", "weight", "description", "enabled");
  section.noteUnread(KEY_ADVICE, "left out: no counterpart");
  const models = new Set([...listed.filter((model) => model !== "*"), ...(only === undefined ? [] : [only])]);
  return {
    section,
    models: isAll && only === undefined && sent.size === 0 ? undefined : models,
    sent,
    line,
    endpointFor,
  };
}

function mcpOf(reading: ReaderInput) {
  const { root, tracker } = reading.source;
  const section = root.section("mcp");
  if (section === undefined) return [];
  const servers = section.sections("client_configs").map((config) => {
    const connection = config.tree("connection_string");
    const isObject = connection?.kind === "map";
    const name = config.text("name") ?? "mcp";
    return {
      name,
      section: isObject ? sectionOf(connection, [...config.path, "connection_string"], tracker) : config,
      url: isObject ? "value" : connection === undefined && config.has("http_url") ? "http_url" : "connection_string",
      isHttp: config.text("connection_type") === "http",
      transportKey: "connection_type",
      apiKey: () => undefined,
    };
  });
  section.noteUnread({}, "left out: no counterpart; agents call the servers, and access rules decide who may");
  return mcpEntries(servers, reading);
}

const PROVIDER_ADVICE: Readonly<Record<string, string>> = {
  concurrency_and_buffer_size: "left out: connections are opened as needed",
  proxy_config: "left out: HTTPS_PROXY in the environment of the gateway sets the proxy",
  send_back_raw_request: "left out: answers of the same dialect are forwarded byte for byte",
  send_back_raw_response: "left out: answers of the same dialect are forwarded byte for byte",
};

const KEY_ADVICE: Readonly<Record<string, string>> = {
  use_for_batch_api: "left out: no counterpart",
  blacklisted_models: "left out: an access rule can deny a model",
};

const CLIENT_ADVICE: Readonly<Record<string, string>> = {
  enable_logging: "left out: requests are always logged and measured, without their texts",
  disable_content_logging: "left out: texts are never logged",
  log_retention_days: "left out: you rotate the audit trail yourself",
  allowed_origins: "left out: GATEWAY_CORS_ORIGINS sets the origins of browser pages",
  initial_pool_size: "left out: connections are opened as needed",
  drop_excess_requests: "left out: requests beyond GATEWAY_MAX_IN_FLIGHT are always refused",
  allow_direct_keys: "left out: without `auth`, the client's own key is sent to the provider",
  enable_litellm_fallbacks:
    "left out: the first provider of a model serves it, and `failover` names those that take over",
  allowed_headers: "left out: headers of clients are forwarded, except credentials",
  prometheus_labels: "left out: the metric labels are fixed",
};

const ROOT_ADVICE: Readonly<Record<string, string>> = {
  encryption_key: "left out, and not copied: `cluster.secret` of the node file seals secrets",
  config_store: "left out: the gateway keeps its state in `cluster.data_dir`",
  logs_store: "left out: texts are not stored; `audit` of the node file sets the audit trail",
  vector_store: "left out: the gateway does not cache answers",
  framework: "left out: prices can be part of the CEL cost of a budget",
  guardrails_config: "left out: add detectors and rules by hand (`guardrails`)",
  auth_config: "left out, and not copied: `admin` of the node file decides how operators sign in",
};

/** Returns the texts of an object as pairs. Other values get a note. */
const textsIn = (section: Section): readonly (readonly [string, string])[] =>
  section.keys.flatMap((key) => {
    const text = section.text(key);
    return text === undefined || text === "" ? [] : [[key, text] as const];
  });
