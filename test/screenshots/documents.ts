/** Deployment sources of the cluster in the pictures, as its operators would write them. */

import type { Reporting } from "./past-days.ts";

export const PROVIDERS = [
  "acme-chat",
  "acme-alt",
  "acme-messages",
  "beta-labs",
  "pool-eu",
  "judge-local",
  "gamma",
] as const;
export type ProviderName = (typeof PROVIDERS)[number];

/** Base address of each provider, and of the fronted server and agent. */
export type Addresses = Readonly<Record<ProviderName | "fronted" | `report of ${Reporting}`, string>>;

/** Names of the secrets sealed in the cluster; the values are made up. */
export const SECRETS: readonly string[] = [
  "ACME_API_KEY",
  "BETA_API_KEY",
  "GAMMA_API_KEY",
  "JUDGE_API_KEY",
  "USAGE_ADMIN_KEY",
];
export const secretOf = (name: string): string => `nobody's-${name}`;

/** Source `default`; `edit` 1 to 3 are its successive revisions. */
export const defaultSource = (at: Addresses, edit: 1 | 2 | 3): string => `\
# Providers, callers and budgets of everybody.
auth:
  virtual_keys: true

providers:
  - name: acme-chat
    dialect: compat
    base_url: ${at["acme-chat"]}/v1
    api_key: \${secret:ACME_API_KEY}
    models: ["acme-small", "acme-large"]
    model_aliases: { chat-fast: acme-small }
    retry: { attempts: 1, when: [5xx], backoff: 50ms }
    failover: { to: [${edit === 1 ? "acme-alt" : "acme-alt, pool-eu"}] }
  - name: acme-alt
    dialect: compat
    base_url: ${at["acme-alt"]}/v1
    api_key: \${secret:ACME_API_KEY}
    models: ["acme-code"]
  - name: acme-messages
    dialect: messages
    base_url: ${at["acme-messages"]}
    api_key: \${secret:ACME_API_KEY}
    models: ["messages-*"]
  - name: beta-labs
    dialect: compat
    base_url: ${at["beta-labs"]}/v1
    api_key: \${secret:BETA_API_KEY}
    models: ["beta-*"]
    failover: { to: [pool-eu] }
  - name: pool-eu
    dialect: compat
    pool: { service: "${at["pool-eu"]}/v1" }
    api_key: \${secret:BETA_API_KEY}
    models: ["open-*"]
    metadata: { region: eu }

budgets:
  - { name: team-research, limit: 5000000, window: day, shared: true }
  - { name: ci-bots, limit: 200000, window: ${edit === 3 ? "hour" : "day"}, cost: { type: OutputToken } }
  - { name: day-5m, limit: 5000000, window: day }

reconcile:
  interval: 2s
  maturity_lag: 24h
  drift_floor: 20
  providers:
    - { provider: acme-messages, type: messages, admin_key: "\${secret:USAGE_ADMIN_KEY}", base_url: "${at["report of acme-messages"]}" }
    - { provider: beta-labs, type: compat, admin_key: "\${secret:USAGE_ADMIN_KEY}", base_url: "${at["report of beta-labs"]}" }

profiles:
  - { name: standard, budget: day-5m, allowed_models: [acme-*, messages-*, chat-fast, open-*] }
  - { name: research, budget: team-research }
  - { name: batch, budget: ci-bots, allowed_models: [acme-small, open-*] }
${
  edit === 1
    ? ""
    : `
access_rules:
  - name: no-previews
    at: [llm]
    condition: model.endsWith("-preview")
    action: deny
    message: Preview models are not reviewed yet.
`
}`;

/** Source `team-ml`. */
export const teamSource = (at: Addresses): string => `\
# What the team runs by itself.
providers:
  - name: judge-local
    dialect: compat
    base_url: ${at["judge-local"]}/v1
    api_key: \${secret:JUDGE_API_KEY}
    models: ["judge-*"]
  - name: gamma
    dialect: messages
    base_url: ${at.gamma}
    api_key: \${secret:GAMMA_API_KEY}
    models: ["gamma-*"]
budgets:
  - { name: evals, limit: 300000, window: hour, shared: true }
profiles:
  - { name: evals, budget: evals, allowed_models: [judge-*, acme-small] }
mcp:
  - name: tickets
    url: ${at.fronted}/tickets
    registry: { name: org.example/tickets, description: Finds and files tickets. }
  - { name: files, url: ${at.fronted}/files }
  - { name: wiki, url: ${at.fronted}/wiki }
a2a:
  - { name: planner, url: ${at.fronted}/planner }
  - { name: translator, url: ${at.fronted}/translator }
guardrails:
  score_threshold: 0.4
  detectors:
    - { name: personal, type: pii, prefilter: pure, apply_to: [tool_args, user, output] }
    - { name: trial, type: pii, prefilter: pure, mode: shadow, schedule: async, entities: [IP_ADDRESS] }
  rules:
    - { name: no-cards, when: '"pii/CREDIT_CARD" in labels', action: deny, message: No card numbers., controls: ["iso-27001:2022/A.8.12", "pci-dss:4.0/3.4"] }
    - { name: addresses, action: redact, select: 'a.type == "pii/EMAIL_ADDRESS"', operator: mask, mask_chars: 4, controls: ["gdpr/art-5", "iso-27001:2022/A.8.12"] }
`;

/** Admin plane policy. On the node that \`hides\` a kind of object, the local operator may not read it. */
export const policy = (hides?: string): string => `\
permit(principal in Role::"local", action, resource);
permit(principal in Role::"viewer", action in Action::"read", resource);
permit(principal in Role::"operator", action in [Action::"read", Action::"write"], resource);
${hides === undefined ? "" : `forbid(principal in Role::"local", action == Action::"${hides}", resource);\n`}`;
