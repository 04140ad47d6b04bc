/** Where the documentation describes what settings of other gateways become, and the key of the document that holds it. */

import { formatPath, type Path } from "../../server/core/config/index.ts";
import type { System } from "./import.ts";

/** Page of the documentation, with the heading on it. */
export interface Page {
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

const PROVIDERS = page("docs/providers.md", "Providers");
const CREDENTIALS = page("docs/providers.md", "Credentials");
const FAILOVER = page("docs/providers.md", "Retries and failover");
const IMPORT = page("docs/providers.md", "Coming from another gateway");
const PROXIES = page("docs/operations.md", "Forward proxies");
const VIRTUAL_KEYS = page("docs/access.md", "Virtual keys");
const RULES = page("docs/access.md", "Access rules");
const BUDGETS = page("docs/access.md", "Budgets");
const GUARDRAILS = page("docs/guardrails.md", "Guardrails");
const ANALYZER = page("docs/detectors.md", "An analyzer (`remote`)");
const AGENTS = page("docs/agents.md", "MCP servers and A2A agents");
const ENVIRONMENT = page("docs/operations.md", "Environment variables");
const CLUSTERS = page("docs/cluster.md", "Clusters and upgrades");
const OPERATORS = page("docs/admin.md", "Who may do what");
const TRAIL = page("docs/admin.md", "The audit trail");
const ALERTS = page("docs/install.md", "Deployment files");

/** The first that matches applies. */
const COUNTERPARTS: Readonly<Record<System, readonly Counterpart[]>> = {
  litellm: [
    { path: /presidio/, key: "guardrails.detectors", page: ANALYZER },
    { path: /guardrails?\b/, key: "guardrails", page: GUARDRAILS },
    { path: /^mcp_servers\b/, key: "mcp", page: AGENTS },
    { path: /(num_retries|max_retries|retry)/, key: "providers[].retry", page: FAILOVER },
    { path: /timeout$/, key: "providers[].first_byte_timeout", page: FAILOVER },
    { path: /fallbacks|routing_strategy|allowed_fails|cooldown/, key: "providers[].failover", page: FAILOVER },
    { path: /model_group_alias/, key: "providers[].model_aliases", page: PROVIDERS },
    { path: /default_key_generate_params\.models/, key: "profiles[].allowed_models", page: RULES },
    { path: /(budget|rpm|tpm|_cost_|parallel_requests)/, key: "budgets", page: BUDGETS },
    { path: /master_key|key_generate|internal_user|team/, key: "auth", page: VIRTUAL_KEYS },
    { path: /jwt|custom_auth|\bui_/, key: "issuers", page: OPERATORS },
    { path: /redis|cache|database|store_model/, key: "cluster", page: CLUSTERS },
    { path: /callback|verbose|json_logs|telemetry|langfuse/, page: ENVIRONMENT },
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
    { path: /retry/, key: "providers[].retry", page: FAILOVER },
    { path: /timeout/, key: "providers[].first_byte_timeout", page: FAILOVER },
    { path: /strategy|weight/, key: "providers[].failover", page: FAILOVER },
    { path: /metadata/, key: "rules", page: RULES },
    { path: /cache/, page: IMPORT },
    { path: /custom_host|resource_name/, key: "providers[].base_url", page: PROVIDERS },
    { path: /aws_region/, key: "providers[].region", page: CREDENTIALS },
    { path: /aws_/, key: "credentials", page: CREDENTIALS },
    { path: /(api_key|virtual_key|authorization)/, key: "providers[].api_key", page: CREDENTIALS },
    { path: /(override_params\.model|deployment_id|provider)$/, key: "providers[].models", page: PROVIDERS },
  ],
  bifrost: [
    { path: /guardrails/, key: "guardrails", page: GUARDRAILS },
    { path: /^mcp\b/, key: "mcp", page: AGENTS },
    { path: /retr/, key: "providers[].retry", page: FAILOVER },
    { path: /timeout/, key: "providers[].first_byte_timeout", page: FAILOVER },
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

/** Returns where a setting belongs; the page about imports if nothing is closer. */
export function counterpartOf(system: System, path: Path): { readonly key: string | undefined; readonly page: Page } {
  const text = formatPath(path).replace(/\[\d+\]/g, "[]");
  const found = COUNTERPARTS[system].find((it) => it.path.test(text));
  return { key: found?.key, page: found?.page ?? IMPORT };
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
  IMPORT,
  ...Object.values(COUNTERPARTS).flatMap((all) => all.map((it) => it.page)),
];
