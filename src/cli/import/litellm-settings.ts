/** `litellm_settings`, `router_settings`, `general_settings` and `mcp_servers`. */

import type { Endpoint, Entry, Reading } from "./draft.ts";
import { limitedProfile } from "./limits.ts";
import { type Fallback, fallbackPairs } from "./litellm-fallbacks.ts";
import { patternsOf } from "./literally.ts";
import { mcpEntries } from "./mcp.ts";
import { type Section, sectionOf, textOf } from "./source.ts";
import { retryOf, timeoutOf } from "./waits.ts";

interface Named {
  readonly at: number;
  readonly path: Section["path"];
}

export interface Settings {
  readonly retry: Endpoint["retry"];
  readonly timeoutMs: number | undefined;
  readonly fallbacks: readonly Fallback[];
  readonly defaultFallbacks: readonly string[];
  readonly aliases: readonly (Named & { readonly alias: string; readonly group: string })[];
  readonly auth: boolean;
  readonly maxBodyBytes: number | undefined;
  readonly budgets: readonly Entry[];
  readonly profiles: readonly Entry[];
}

const MEBIBYTE = 1024 * 1024;
/** What a request body may be told to weigh: beyond it a number is of another unit. */
const MAX_BODY_MEBIBYTES = 1024;

export function litellmSettings(reading: Reading): Settings {
  const { root } = reading.foreign;
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
    general?.tell(
      "master_key",
      "not copied: callers need keys that the admin API mints (`auth`), which the node file opens to operators (`admin`)",
    );
  litellm?.rest(LITELLM_ADVICE, "left out: no counterpart");
  router?.rest(ROUTER_ADVICE, "left out: no counterpart");
  general?.rest(GENERAL_ADVICE, "left out: no counterpart");
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

/** What each new key is given. */
function keyLimits(litellm: Section): { readonly profile: Entry; readonly budget?: Entry } | undefined {
  const section = litellm.section("default_key_generate_params");
  if (section === undefined) return undefined;
  const tokens = section.number("tpm_limit");
  const requests = section.number("rpm_limit");
  const models = patternsOf(section, "models");
  section.rest(KEY_ADVICE, "left out: no counterpart");
  const limits = { tokens, requests, tokenWindow: "minute", requestWindow: "minute" };
  return limitedProfile(section, "default-key", limits, { allowed_models: models });
}

export function megabytes(section: Section, key: string): number | undefined {
  const count = section.number(key);
  if (count === undefined) return undefined;
  if (count > 0 && count <= MAX_BODY_MEBIBYTES) return Math.round(count * MEBIBYTE);
  section.tell(key, `left out: expected more than 0 and at most ${MAX_BODY_MEBIBYTES} MiB`);
  return undefined;
}

function first<Thing>(sections: readonly Section[], read: (section: Section) => Thing | undefined): Thing | undefined {
  // All are read, so that what is wrong in the second is told too.
  return sections.map(read).find((it) => it !== undefined);
}

function aliasesOf(router: Section, { foreign: { tell } }: Reading): Settings["aliases"] {
  const section = router.section("model_group_alias");
  return (section?.keys ?? []).flatMap((alias) => {
    const at = section?.placeOf(alias) ?? 0;
    const path = [...router.path, "model_group_alias", alias];
    const tree = section?.tree(alias);
    const detailed = tree?.kind === "map" ? sectionOf(tree, path, tell) : undefined;
    const group = tree && (detailed === undefined ? textOf(tree) : detailed.text("model"));
    detailed?.rest({ hidden: "left out: aliases stand in the list of models" }, "left out: no counterpart");
    if (group === undefined) tell(at, path, "left out: expected the name of a model");
    return group === undefined ? [] : [{ alias, group, at, path }];
  });
}

export function litellmMcp(reading: Reading): readonly Entry[] {
  const servers = reading.foreign.root.section("mcp_servers");
  if (servers === undefined) return [];
  return mcpEntries(
    servers.keys.flatMap((name) => {
      const section = servers.section(name);
      if (section === undefined) return [];
      const transport = section.text("transport") ?? "sse";
      const kind = section.text("auth_type") ?? "none";
      if (kind !== "none" && kind !== "bearer_token")
        section.tell("auth_type", "left out: a bearer value or an entry of `credentials` is sent; write it by hand");
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

const LITELLM_ADVICE: Readonly<Record<string, string>> = {
  drop_params: "left out: `on_fidelity_loss` says what happens to what an upstream cannot take",
  max_budget:
    "left out: budgets here hold for callers, and count tokens or a CEL cost, not dollars; write one with your prices",
  budget_duration: "left out: `window` of a budget",
  cache: "left out: answers are not cached",
  cache_params: "left out: answers are not cached",
  callbacks: "left out: traces and metrics go out by OTLP (OTEL_EXPORTER_OTLP_ENDPOINT); guardrails are `guardrails`",
  success_callback: "left out: traces and metrics go out by OTLP (OTEL_EXPORTER_OTLP_ENDPOINT)",
  failure_callback: "left out: traces and metrics go out by OTLP (OTEL_EXPORTER_OTLP_ENDPOINT)",
  context_window_fallbacks: "left out: failover reacts to failures, not to the length of a prompt",
  content_policy_fallbacks: "left out: failover reacts to failures, not to what an answer says",
  guardrails: "left out: this older form names callbacks; write `guardrails`",
  default_internal_user_params: "left out: users are those of an issuer; write a profile with a budget",
  default_team_settings: "left out: write a profile for each team",
  default_team_params: "left out: write a profile for each team",
  upperbound_key_generate_params: "left out: a profile is what bounds its keys",
  set_verbose: "left out: the log has what operators need, without texts of requests",
  json_logs: "left out: logs are JSON lines as they are",
  master_key: "left out, and not copied: it belongs to `general_settings`",
};

const ROUTER_ADVICE: Readonly<Record<string, string>> = {
  routing_strategy: "left out: the first provider that claims a model serves it, the next ones when it fails",
  routing_strategy_args: "left out: the first provider that claims a model serves it, the next ones when it fails",
  context_window_fallbacks: "left out: failover reacts to failures, not to the length of a prompt",
  content_policy_fallbacks: "left out: failover reacts to failures, not to what an answer says",
  allowed_fails:
    "left out: an upstream is not taken out by a count; operators suspend one (`gateway admin PUT suspensions/provider:NAME`)",
  allowed_fails_policy: "left out: an upstream is not taken out by a count",
  cooldown_time: "left out: an upstream is not taken out by a count",
  retry_after: "left out: waits are `backoff` and `retry_after_cap` of `retry`",
  retry_policy: "left out: `retry.when` names what is repeated",
  redis_host: "left out: nodes share their state by themselves",
  redis_port: "left out: nodes share their state by themselves",
  redis_password: "left out, and not copied: nodes share their state by themselves",
  redis_url: "left out, and not copied: nodes share their state by themselves",
  enable_pre_call_checks: "left out: what an upstream cannot take is known from the catalog",
  provider_budget_config: "left out: budgets hold for callers, not for providers",
};

const GENERAL_ADVICE: Readonly<Record<string, string>> = {
  database_url: "left out, and not copied: state lives in the gateway's own log (`cluster.data_dir`)",
  store_model_in_db: "left out: configuration sources of the admin API hold what is changed at run time",
  pass_through_endpoints: "left out: only routes of the two dialects are forwarded",
  alerting: "left out: alerts are rules over the gateway's metrics",
  alerting_threshold: "left out: alerts are rules over the gateway's metrics",
  custom_auth: "left out: write an issuer into the node file, and bind it in `auth.issuers`",
  enable_jwt_auth: "left out: write an issuer into the node file, and bind it in `auth.issuers`",
  litellm_jwtauth: "left out: write an issuer into the node file, and bind it in `auth.issuers`",
  max_parallel_requests: "left out: no counterpart",
  global_max_parallel_requests: "left out: no counterpart",
  key_management_system: "left out: `${secret:NAME}` reads files of `secrets_dir` or what the cluster keeps sealed",
  key_management_settings: "left out: `${secret:NAME}` reads files of `secrets_dir` or what the cluster keeps sealed",
  background_health_checks: "left out: `gateway check` asks each upstream when you do",
};

const KEY_ADVICE: Readonly<Record<string, string>> = {
  max_budget: "left out: budgets count tokens or a CEL cost, not dollars; write one with your prices",
  budget_duration: "left out: `window` of a budget",
  duration: "left out: say `expires_at` when a key is minted",
};
