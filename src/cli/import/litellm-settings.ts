/** Reads `litellm_settings`, `router_settings`, `general_settings` and `mcp_servers`. */

import type { Endpoint, Entry, ReaderInput } from "./deployment-draft.ts";
import { patternsOf } from "./escape-source-text.ts";
import { type Section, sectionOf, textOf } from "./foreign-source.ts";
import { limitedProfile } from "./limited-profile.ts";
import { type Fallback, fallbackPairs } from "./litellm-fallbacks.ts";
import { mcpEntries } from "./mcp-server-entries.ts";
import { retryOf, timeoutOf } from "./retries-and-timeouts.ts";

interface NamedEntry {
  readonly at: number;
  readonly path: Section["path"];
}

export interface Settings {
  readonly retry: Endpoint["retry"];
  readonly timeoutMs: number | undefined;
  readonly fallbacks: readonly Fallback[];
  readonly defaultFallbacks: readonly string[];
  readonly aliases: readonly (NamedEntry & { readonly alias: string; readonly group: string })[];
  readonly auth: boolean;
  readonly maxBodyBytes: number | undefined;
  readonly budgets: readonly Entry[];
  readonly profiles: readonly Entry[];
}

const MEBIBYTE = 1024 * 1024;
/** Largest plausible limit of a request body. A larger number has another unit. */
const MAX_BODY_MEBIBYTES = 1024;

export function litellmSettings(reading: ReaderInput): Settings {
  const { root } = reading.source;
  const litellm = root.section("litellm_settings");
  const router = root.section("router_settings");
  const general = root.section("general_settings");
  const both = [router, litellm].filter((section) => section !== undefined);
  const retry = first(both, (section) => retryOf(section, "num_retries", section.number("num_retries")));
  const timeoutMs = first(both, (section) =>
    timeoutOf(section, section === router ? "timeout" : "request_timeout", 1000),
  );
  const fallbacks = both.flatMap((section) => fallbackPairs(section, "fallbacks", reading));
  const defaultFallbacks = both.flatMap((section) => section.texts("default_fallbacks"));
  const aliases = router === undefined ? [] : aliasesOf(router, reading);
  const limited = litellm === undefined ? undefined : keyLimits(litellm);
  const maxBodyBytes = general && megabytes(general, "max_request_size_mb");
  const auth = (general?.text("master_key") ?? "") !== "";
  if (auth)
    general?.addNote(
      "master_key",
      "not copied: callers need virtual keys (`auth`); mint them with `gateway keys mint`",
    );
  litellm?.noteUnread(LITELLM_ADVICE, "left out: no counterpart");
  router?.noteUnread(ROUTER_ADVICE, "left out: no counterpart");
  for (const key of general?.keys ?? []) {
    if (/^(database_|maximum_spend_logs_|proxy_batch_)/.test(key) && key !== "database_url")
      general?.leaveOutKey(key, NO_DATABASE);
  }
  general?.noteUnread(GENERAL_ADVICE, "left out: no counterpart");
  return {
    retry,
    timeoutMs,
    fallbacks,
    defaultFallbacks,
    aliases,
    auth,
    maxBodyBytes,
    budgets: limited?.budget === undefined ? [] : [limited.budget],
    profiles: limited === undefined ? [] : [limited.profile],
  };
}

/** Reads the limits of new keys. */
function keyLimits(litellm: Section): { readonly profile: Entry; readonly budget?: Entry } | undefined {
  const section = litellm.section("default_key_generate_params");
  if (section === undefined) return undefined;
  const tokens = section.number("tpm_limit");
  const requests = section.number("rpm_limit");
  const models = patternsOf(section, "models");
  section.noteUnread(KEY_ADVICE, "left out: no counterpart");
  const limits = { tokens, requests, tokenWindow: "minute", requestWindow: "minute" };
  return limitedProfile(section, "default-key", limits, { allowed_models: models });
}

export function megabytes(section: Section, key: string): number | undefined {
  const count = section.number(key);
  if (count === undefined) return undefined;
  if (count > 0 && count <= MAX_BODY_MEBIBYTES) return Math.round(count * MEBIBYTE);
  section.addNote(key, `left out: expected more than 0 and at most ${MAX_BODY_MEBIBYTES} MiB`);
  return undefined;
}

function first<Thing>(sections: readonly Section[], read: (section: Section) => Thing | undefined): Thing | undefined {
  // Reads all sections, so that errors in later ones get notes too.
  return sections.map(read).find((it) => it !== undefined);
}

function aliasesOf(router: Section, { source: { addNote, tracker } }: ReaderInput): Settings["aliases"] {
  const section = router.section("model_group_alias");
  return (section?.keys ?? []).flatMap((alias) => {
    const at = section?.offsetOf(alias) ?? 0;
    const path = [...router.path, "model_group_alias", alias];
    const tree = section?.tree(alias);
    const detailed = tree?.kind === "map" ? sectionOf(tree, path, tracker) : undefined;
    const group = tree && (detailed === undefined ? textOf(tree) : detailed.text("model"));
    detailed?.noteUnread({ hidden: "left out: aliases are always in the list of models" }, "left out: no counterpart");
    if (group === undefined) addNote(at, path, "left out: expected the name of a model");
    return group === undefined ? [] : [{ alias, group, at, path }];
  });
}

export function litellmMcp(reading: ReaderInput): readonly Entry[] {
  const servers = reading.source.root.section("mcp_servers");
  if (servers === undefined) return [];
  return mcpEntries(
    servers.keys.flatMap((name) => {
      const section = servers.section(name);
      if (section === undefined) return [];
      const transport = section.text("transport") ?? "sse";
      const kind = section.text("auth_type") ?? "none";
      if (kind !== "none" && kind !== "bearer_token")
        section.addNote(
          "auth_type",
          "left out: the gateway presents a bearer token or an entry of `credentials`; add it by hand",
        );
      const key = section.has("auth_value") ? "auth_value" : "authentication_token";
      const apiKey = () =>
        kind === "bearer_token" ? reading.variables.reference(section, key, `${name}_MCP_TOKEN`) : undefined;
      return [
        {
          name,
          section,
          url: "url",
          isHttp: /^(http|streamable[_-]?http)$/.test(transport),
          transportKey: "transport",
          apiKey,
        },
      ];
    }),
    reading,
  );
}

const NO_DATABASE = "left out: the gateway needs no database; it keeps its state in `cluster.data_dir`";

const LITELLM_ADVICE: Readonly<Record<string, string>> = {
  service_callback: "left out: traces and metrics are exported by OTLP (OTEL_EXPORTER_OTLP_ENDPOINT)",
  turn_off_message_logging: "left out: texts of requests are never logged",
  redact_messages_in_exceptions: "left out: texts of requests are never logged",
  redact_user_api_key_info: "left out: keys are never logged",
  global_disable_no_log_param: "left out: texts of requests are never logged",
  modify_params: "left out: `on_fidelity_loss` decides what happens to parameters that an upstream does not accept",
  max_end_user_budget: "left out: budgets count tokens or a CEL cost instead of dollars; add one with your prices",
  default_end_user_params: "left out: callers are virtual keys and users of an issuer; add a profile with a budget",
  telemetry: "left out: the gateway reports nothing to anybody",
  vertex_project: "left out: the gateway fetches no Google Cloud tokens; use preset `gemini` with a key",
  vertex_location: "left out: the gateway fetches no Google Cloud tokens; use preset `gemini` with a key",
  timezone: "left out: windows of budgets are aligned to UTC",
  mcp_servers: "left out: move it to the top level of the file and import again",
  default_model: "left out: `default_provider` gets the requests for unknown models",
  allow_requests_on_db_unavailable: "left out: requests need no database",
  drop_params: "left out: `on_fidelity_loss` decides what happens to parameters that an upstream does not accept",
  max_budget:
    "left out: budgets apply to callers, and count tokens or a CEL cost instead of dollars; add one with your prices",
  budget_duration: "left out: it is the `window` of a budget",
  cache: "left out: the gateway does not cache answers",
  cache_params: "left out: the gateway does not cache answers",
  callbacks:
    "left out: traces and metrics are exported by OTLP (OTEL_EXPORTER_OTLP_ENDPOINT); guardrails belong under `guardrails`",
  success_callback: "left out: traces and metrics are exported by OTLP (OTEL_EXPORTER_OTLP_ENDPOINT)",
  failure_callback: "left out: traces and metrics are exported by OTLP (OTEL_EXPORTER_OTLP_ENDPOINT)",
  context_window_fallbacks: "left out: failover reacts to failures and not to the length of a prompt",
  content_policy_fallbacks: "left out: failover reacts to failures and not to the content of an answer",
  guardrails: "left out: this older form names callbacks; add `guardrails`",
  default_internal_user_params: "left out: users come from an issuer; add a profile with a budget",
  default_team_settings: "left out: add a profile for each team",
  default_team_params: "left out: add a profile for each team",
  upperbound_key_generate_params: "left out: the profile of a key limits it",
  set_verbose: "left out: the log never contains texts of requests; GATEWAY_LOG sets its level",
  json_logs: "left out: logs are JSON lines unless stderr is a terminal",
  master_key: "left out, and not copied: it belongs in `general_settings`",
};

const ROUTER_ADVICE: Readonly<Record<string, string>> = {
  stream_timeout: "left out: one `first_byte_timeout` covers streams too, and `timeout` sets it",
  cache_responses: "left out: the gateway does not cache answers",
  default_model: "left out: `default_provider` gets the requests for unknown models",
  routing_strategy: "left out: the first provider of a model serves it, and the next ones take over when it fails",
  routing_strategy_args: "left out: the first provider of a model serves it, and the next ones take over when it fails",
  context_window_fallbacks: "left out: failover reacts to failures and not to the length of a prompt",
  content_policy_fallbacks: "left out: failover reacts to failures and not to the content of an answer",
  allowed_fails:
    "left out: failures do not take an upstream out of service; operators can suspend it (`gateway suspend provider:NAME`)",
  allowed_fails_policy: "left out: failures do not take an upstream out of service",
  cooldown_time: "left out: failures do not take an upstream out of service",
  retry_after: "left out: `backoff` and `retry_after_cap` of `retry` set the waits",
  retry_policy: "left out: `retry.when` names what is retried",
  redis_host: "left out: the nodes of a cluster share their state without Redis",
  redis_port: "left out: the nodes of a cluster share their state without Redis",
  redis_password: "left out, and not copied: the nodes of a cluster share their state without Redis",
  redis_url: "left out, and not copied: the nodes of a cluster share their state without Redis",
  enable_pre_call_checks: "left out: the catalog knows what an upstream accepts",
  provider_budget_config: "left out: budgets apply to callers and not to providers",
};

const GENERAL_ADVICE: Readonly<Record<string, string>> = {
  always_include_stream_usage: "left out: `stream_usage` of a provider is on wherever usage is metered",
  store_prompts_in_spend_logs: "left out: texts of requests are never stored",
  disable_spend_logs: "left out: usage is counted in tokens, without texts of requests",
  disable_error_logs: "left out: errors are logged without texts of requests; GATEWAY_LOG sets the level",
  json_logs: "left out: logs are JSON lines unless stderr is a terminal",
  user_header_name: "left out: callers are virtual keys and users of an issuer, and no header names them",
  allowed_ips: "left out: restrict the network, or write an access rule",
  allow_user_auth: "left out: operators sign in as `admin` of the node file says",
  ui_access_mode: "left out: operators sign in as `admin` of the node file says",
  proxy_base_url: "left out: set `public_url` if callers use tokens for single MCP servers",
  use_redis_transaction_buffer: "left out: the nodes of a cluster share their state without Redis",
  health_check_interval: "left out: `gateway check` asks every upstream when you run it",
  enforce_user_param: "left out: callers are virtual keys and users of an issuer",
  default_key_generate_params: "left out: move it to `litellm_settings` and import again",
  database_url: "left out, and not copied: the gateway keeps its state in `cluster.data_dir`",
  store_model_in_db:
    "left out: configuration that changes at run time belongs in a configuration source (`gateway config apply`)",
  pass_through_endpoints: "left out: the gateway forwards only the routes of its two dialects",
  alerting: "left out: alerts are Prometheus rules over the metrics of the gateway",
  alerting_threshold: "left out: alerts are Prometheus rules over the metrics of the gateway",
  custom_auth: "left out: add an issuer to the node file and name it in `auth.issuers`",
  enable_jwt_auth: "left out: add an issuer to the node file and name it in `auth.issuers`",
  litellm_jwtauth: "left out: add an issuer to the node file and name it in `auth.issuers`",
  max_parallel_requests: "left out: no counterpart",
  global_max_parallel_requests: "left out: no counterpart",
  key_management_system:
    "left out: `${secret:NAME}` reads files in `secrets_dir` and the sealed secrets of the cluster",
  key_management_settings:
    "left out: `${secret:NAME}` reads files in `secrets_dir` and the sealed secrets of the cluster",
  background_health_checks: "left out: `gateway check` asks every upstream when you run it",
};

const KEY_ADVICE: Readonly<Record<string, string>> = {
  max_budget: "left out: budgets count tokens or a CEL cost instead of dollars; add one with your prices",
  budget_duration: "left out: it is the `window` of a budget",
  duration: "left out: set the expiry when you mint a key (`gateway keys mint -expires`)",
};
