/**
 * Content of a governed deployment beside its providers: keys only, one profile with a list of models and a shared
 * budget that is never exhausted, and four rules that no request of the bench matches, two for everybody and two of the
 * profile, and two for tool calls. All are evaluated for each request. A recording deployment has one more, which
 * decides each request.
 */

export const PROFILE = "engineers";
export const BUDGET = "engineering";
/** Tokens per day: at 260 each, more requests than a thousand benches send. */
const LIMIT = 1_000_000_000_000;

interface Governing {
  /** The model that the bench requests. */
  readonly model: string;
  /** A rule decides each request, which is therefore recorded. */
  readonly isRecorded: boolean;
}

interface GovernedSections {
  readonly auth: object;
  readonly budgets: readonly object[];
  readonly profiles: readonly object[];
  readonly access_rules: readonly object[];
}

export function governedSections({ model, isRecorded }: Governing): GovernedSections {
  return {
    auth: { virtual_keys: true },
    budgets: [{ name: BUDGET, limit: LIMIT, window: "day", shared: true, cost: { type: "TotalToken" } }],
    profiles: [
      {
        name: PROFILE,
        allowed_models: ["p1-chat", "p2-chat", "p3-*", "alias-*", "p7-chat", "p9-chat", model, "p20-*"],
        budget: BUDGET,
        access_rules: [
          rule("no-embeddings-there", 'provider == "provider-10" && route == "embeddings"'),
          rule("retired", 'model in ["p1-retired", "p2-retired", "p3-retired", "p4-retired", "p5-retired"]'),
          ...(isRecorded ? [DECIDING] : []),
        ],
      },
    ],
    access_rules: [
      rule("internal-models", 'model.startsWith("internal-")'),
      rule("contractors", 'key.metadata.team == "contractors"'),
      { ...rule("no-deletions", 'server == "bench" && name.startsWith("delete_")'), at: ["mcp"] },
      { ...rule("few-orders", 'name == "find_orders" && args.limit > 100'), at: ["mcp"] },
    ],
  };
}

const rule = (name: string, condition: string): object => ({ name, at: ["llm"], condition, action: "deny" });

const DECIDING = {
  name: "production",
  at: ["llm"],
  condition: 'key.metadata.env == "prod"',
  action: "allow",
  controls: ["AC-3", "SOC2-CC6.1"],
};

/** One detector with everything it knows, and four rules that no text of the bench matches. For requests by default. */
export const guardrailsOf = (kinds: readonly string[] | undefined): object => ({
  score_threshold: 0.5,
  detectors: [{ type: "pii", prefilter: "pure", ...(kinds !== undefined && { apply_to: kinds }) }],
  rules: [
    { name: "no-cards", when: 'annotations.exists(a, a.type == "pii/CREDIT_CARD" && a.score > 0.9)', action: "deny" },
    { name: "no-secrets", when: 'annotations.exists(a, a.category == "secret")', action: "deny" },
    { name: "hide", select: 'a.label in ["US_SSN", "IBAN_CODE", "PHONE_NUMBER", "EMAIL_ADDRESS"]', action: "redact" },
    { name: "many", when: "size(annotations) > 20", action: "annotate" },
  ],
});
