/** Pages of the documentation about settings of other gateways, and the keys of the document that replace them. */

import { formatPath, type Path } from "../../server/core/config/index.ts";
import type { System } from "./import-configuration.ts";

/** Page of the documentation, with the heading on it. */
interface Page {
  readonly file: string;
  readonly title: string;
}

interface Counterpart {
  /** Matches the path of a setting, in which an index is `[]`. */
  readonly path: RegExp;
  /** Key of the document, the node file or the environment; absent if there is none. */
  readonly key?: string;
  readonly page: Page;
}

const page = (file: string, title: string): Page => ({ file, title });

const PROVIDERS = page("docs/guides/providers.md", "Which provider serves a model");
const RETRIES = page("docs/guides/providers.md", "Retry the same provider");
const FAILOVER = page("docs/guides/providers.md", "Fail over to another provider");
const CREDENTIALS = page("docs/guides/credentials.md", "Credentials and cloud signing");
const PROXIES = page("docs/guides/forward-proxies.md", "Forward proxies");
const VIRTUAL_KEYS = page("docs/guides/keys-and-rules.md", "Virtual keys");
const RULES = page("docs/guides/keys-and-rules.md", "Access rules");
const BUDGETS = page("docs/concepts/budgets.md", "Budgets");
const GUARDRAILS = page("docs/guides/guardrails.md", "Guardrails from zero to enforced");
const ANALYZER = page("docs/guides/detectors.md", "An analyzer (`remote`)");
const AGENTS = page("docs/guides/mcp-and-a2a.md", "MCP and A2A");
const ENVIRONMENT = page("docs/reference/environment.md", "Environment variables");
const CLUSTERS = page("docs/concepts/cluster.md", "Clusters");
const OPERATORS = page("docs/guides/oidc.md", "4. Operators");
const TRAIL = page("docs/concepts/audit-trail.md", "Audit trail");
const TELEMETRY = page("docs/guides/observability.md", "OpenTelemetry");
const ALERTS = page("docs/guides/observability.md", "Prometheus");

/** Page about imports from each system, for settings that have no page of their own. */
const IMPORTS: Readonly<Record<System, Page>> = {
  litellm: page("docs/guides/from-litellm.md", "What has no counterpart"),
  portkey: page("docs/guides/from-portkey.md", "What has no counterpart"),
  bifrost: page("docs/guides/from-bifrost.md", "What has no counterpart"),
};

/** Pages and keys by system. The first entry whose path matches applies. */
const COUNTERPARTS: Readonly<Record<System, readonly Counterpart[]>> = {
  litellm: [
    { path: /presidio/, key: "guardrails.detectors", page: ANALYZER },
    { path: /guardrails?\b/, key: "guardrails", page: GUARDRAILS },
    { path: /^mcp_servers\b/, key: "mcp", page: AGENTS },
    { path: /(num_retries|max_retries|retry)/, key: "providers[].retry", page: RETRIES },
    { path: /timeout$/, key: "providers[].first_byte_timeout", page: RETRIES },
    { path: /fallbacks|routing_strategy|allowed_fails|cooldown/, key: "providers[].failover", page: FAILOVER },
    { path: /model_group_alias/, key: "providers[].model_aliases", page: PROVIDERS },
    { path: /default_key_generate_params\.models/, key: "profiles[].allowed_models", page: RULES },
    { path: /(budget|rpm|tpm|_cost_|parallel_requests)/, key: "budgets", page: BUDGETS },
    { path: /master_key|key_generate|internal_user|team/, key: "auth", page: VIRTUAL_KEYS },
    { path: /jwt|custom_auth|\bui_/, key: "issuers", page: OPERATORS },
    { path: /redis|cache|database|store_model/, key: "cluster", page: CLUSTERS },
    { path: /callback|telemetry|langfuse/, page: TELEMETRY },
    { path: /verbose|json_logs/, page: ENVIRONMENT },
    { path: /alert/, page: ALERTS },
    { path: /(api_base|base_url)$/, key: "providers[].base_url", page: PROVIDERS },
    { path: /aws_region/, key: "providers[].region", page: CREDENTIALS },
    { path: /\.aws_/, key: "credentials", page: CREDENTIALS },
    { path: /(api_key|_token|credential_values)/, key: "providers[].api_key", page: CREDENTIALS },
    { path: /max_request_size_mb/, key: "max_body_bytes", page: PROVIDERS },
    { path: /^model_list\b/, key: "providers[].models", page: PROVIDERS },
  ],
  portkey: [
    { path: /(guardrails|_hooks|plugins)/, key: "guardrails", page: GUARDRAILS },
    { path: /retry/, key: "providers[].retry", page: RETRIES },
    { path: /timeout/, key: "providers[].first_byte_timeout", page: RETRIES },
    { path: /strategy|weight/, key: "providers[].failover", page: FAILOVER },
    { path: /metadata/, key: "rules", page: RULES },
    { path: /custom_host|resource_name/, key: "providers[].base_url", page: PROVIDERS },
    { path: /aws_region/, key: "providers[].region", page: CREDENTIALS },
    { path: /aws_/, key: "credentials", page: CREDENTIALS },
    { path: /(api_key|virtual_key|authorization)/, key: "providers[].api_key", page: CREDENTIALS },
    { path: /(override_params\.model|deployment_id|provider)$/, key: "providers[].models", page: PROVIDERS },
  ],
  bifrost: [
    { path: /guardrails/, key: "guardrails", page: GUARDRAILS },
    { path: /^mcp\b/, key: "mcp", page: AGENTS },
    { path: /retr/, key: "providers[].retry", page: RETRIES },
    { path: /timeout/, key: "providers[].first_byte_timeout", page: RETRIES },
    { path: /proxy_config/, page: PROXIES },
    { path: /rate_limit|budget|pricing|customers|teams/, key: "budgets", page: BUDGETS },
    { path: /routing_rules|fallbacks|weight/, key: "providers[].failover", page: FAILOVER },
    { path: /allowed_models|mcp_configs|blacklisted/, key: "profiles[].allowed_models", page: RULES },
    { path: /virtual_keys|enforce_|^plugins\b/, key: "auth", page: VIRTUAL_KEYS },
    { path: /auth_config/, key: "admin", page: OPERATORS },
    { path: /logs_store|log_retention|content_logging/, key: "audit", page: TRAIL },
    { path: /config_store|encryption_key|vector_store/, key: "cluster", page: CLUSTERS },
    { path: /^client\.max_request_body_size_mb/, key: "max_body_bytes", page: PROVIDERS },
    { path: /^client\b/, page: ENVIRONMENT },
    { path: /(base_url|endpoint|url)(\.|$)/, key: "providers[].base_url", page: PROVIDERS },
    { path: /region/, key: "providers[].region", page: CREDENTIALS },
    { path: /(access_key|secret_key|session_token)/, key: "credentials", page: CREDENTIALS },
    { path: /\bvalue(\.|$)|key_config/, key: "providers[].api_key", page: CREDENTIALS },
    { path: /aliases|deployments/, key: "providers[].model_aliases", page: PROVIDERS },
    { path: /^providers\b/, key: "providers[].models", page: PROVIDERS },
  ],
};

/** Returns the page and key for a setting; the page about imports if there is no other. */
export function counterpartOf(system: System, path: Path): { readonly key: string | undefined; readonly page: Page } {
  const text = formatPath(path).replace(/\[\d+\]/g, "[]");
  const found = COUNTERPARTS[system].find((it) => it.path.test(text));
  return { key: found?.key, page: found?.page ?? IMPORTS[system] };
}

/** Returns the Markdown link to a page, from the root of the repository. */
export function linkTo({ file, title }: Page): string {
  const anchor = title
    .toLowerCase()
    .replace(/[^a-z0-9 -]/g, "")
    .replaceAll(" ", "-");
  return `[${title}](${file}#${anchor})`;
}

/** All pages, for the test that they exist. */
export const PAGES: readonly Page[] = [
  ...Object.values(IMPORTS),
  ...Object.values(COUNTERPARTS).flatMap((all) => all.map((it) => it.page)),
];
