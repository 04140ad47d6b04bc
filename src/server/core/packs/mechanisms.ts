/** Mechanisms of the gateway that can serve a control beside a pack's rules. Source: guardrails reference, 8.2. */

export const MECHANISMS = [
  "auth.required",
  "auth.virtual_keys",
  "auth.jwt",
  "profile.allowed_models",
  "access_rules",
  "budgets",
  "guardrail.pii",
  "guardrail.secret",
  "guardrail.injection",
  "guardrail.output",
  "guardrail.topic",
  "operator.fpe",
  "operator.pseudonym",
  "mcp.tool_rules",
  "a2a.signed_cards",
  "credentials.strip",
  "token_exchange",
  "audit.signed_chain",
  "audit.witnessed_heads",
  "reconcile",
  "models.pinned",
  "tls.front_door",
  "mtls.cluster",
  "sealed_secrets",
  "suspensions",
  "metrics",
  "snapshot",
  "policy_file",
] as const;

export type Mechanism = (typeof MECHANISMS)[number];
