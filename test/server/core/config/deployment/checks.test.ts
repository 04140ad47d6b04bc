import assert from "node:assert/strict";
import { test } from "node:test";
import type {
  Deployment,
  Failover,
  ProviderConfig,
  Retry,
} from "../../../../../src/server/core/config/deployment/index.ts";
import { documentOf, problemsOf, providersOf } from "./harness.ts";

const OPENAI: ProviderConfig = { preset: "openai", api_key: "k", models: ["gpt-*"] };
const LOCAL: ProviderConfig = {
  name: "local",
  dialect: "compat",
  base_url: "http://127.0.0.1:8000/v1",
  models: ["llama"],
};

const retry = (rest: Partial<Retry>): Retry => ({
  attempts: 1,
  when: ["connect"],
  backoff: "200ms",
  max_backoff: "2s",
  retry_after_cap: "5s",
  ...rest,
});

const failover = (to: readonly string[], when: Failover["when"] = ["connect"]): Failover => ({ to, when });

const CORP = { issuer: "corp", audience: "models", subject: "user" } as const;

const DAILY = { name: "daily", limit: 1, window: "day", shared: false } as const;

/** A valid document with every key of this version; it also checks the inferred types. */
const COMPLETE: Deployment = {
  version: 3,
  max_body_bytes: 1_000_000,
  credentials: [{ name: "openai-key", api_key: "k" }],
  catalog_overlays: [
    {
      name: "house",
      providers: [{ op: "patch", name: "openai", base_url: "https://eu.example.com/v1" }],
    },
  ],
  providers: [
    {
      preset: "openai",
      credential: "openai-key",
      models: ["gpt-*"],
      model_aliases: { fast: "gpt-5-mini" },
      metadata: { region: "eu" },
      cost_per_session: 5,
      stream_usage: true,
      first_byte_timeout: "10s",
      retry: retry({ when: ["connect", "timeout"] }),
      failover: failover(["local"]),
      on_fidelity_loss: "reject",
    },
    { ...LOCAL, api_key: "k" },
    { name: "west", preset: "bedrock", region: "us-west-2", api_key: "k", models: ["amazon/*"] },
  ],
  default_provider: "local",
  on_fidelity_loss: "reject",
  auth: {
    virtual_keys: true,
    issuers: [
      {
        ...CORP,
        profile: "team",
        profiles: { claim: "email", trust_claim: true, select: [{ value: "a@b.example", profile: "team" }] },
      },
      { ...CORP, audience: "agents", subject: "agent", profile: "" },
    ],
  },
  budgets: [{ ...DAILY, cost: { type: "CEL", cel: "output_tokens" } }],
  profiles: [
    {
      name: "team",
      allowed_models: ["gpt-5", "nobody-claims-it"],
      require_caps: ["tools"],
      budget: "daily",
      access_rules: [{ name: "r", condition: "true", action: "allow", on_error: "fail_closed" }],
    },
    { name: "free", budget: "" },
  ],
  access_rules: [{ name: "r", at: ["llm"], condition: "false", action: "deny", on_error: "fail_open" }],
  public_url: "https://example.com/gateway/",
};

test("a document that uses every key of this version has no problem", () => {
  assert.deepEqual(problemsOf(COMPLETE), []);
});

test("an empty document has no problem", () => {
  assert.deepEqual(problemsOf(documentOf({})), []);
});

const CASES: readonly { readonly name: string; readonly document: Deployment; readonly expected: readonly string[] }[] =
  [
    {
      name: "two credentials of one name are refused",
      document: documentOf({
        credentials: [
          { name: "a", api_key: "x" },
          { name: "a", api_key: "y" },
        ],
      }),
      expected: ['credentials[1]: two credentials have the name "a", the first is entry 1 of this list'],
    },
    {
      name: "two overlays of one name are refused",
      document: documentOf({
        catalog_overlays: [
          { name: "a", providers: [] },
          { name: "a", providers: [] },
        ],
      }),
      expected: ['catalog_overlays[1]: two catalog overlays have the name "a", the first is entry 1 of this list'],
    },
    {
      name: "a provider's name is the one of its preset when it has none, so it may collide",
      document: providersOf(OPENAI, { ...LOCAL, name: "openai" }),
      expected: [
        'providers[1]: two providers (one without a name has the name of its preset) have the name "openai", the first is entry 1 of this list',
      ],
    },
    {
      name: "a provider without a preset needs a name and an address",
      document: providersOf({ dialect: "compat" }),
      expected: [
        "providers[0]: a provider without a `preset` needs a `name`",
        "providers[0]: a provider without a `preset` needs a `base_url` or a `pool`",
      ],
    },
    {
      name: "a provider with a pool needs no base_url",
      document: providersOf({ name: "own", dialect: "compat", pool: { service: "http://models.svc:8000" } }),
      expected: [],
    },
    {
      name: "a base_url with a query is refused",
      document: providersOf({ ...LOCAL, base_url: "https://models.example.com/v1?key=1" }),
      expected: ["providers[0].base_url: the root URL must not have a query or fragment (`?`, `#`)"],
    },
    ...["chat/completions", "completions", "responses", "embeddings", "messages", "messages/"].map((end) => ({
      name: `a base_url that ends in ${end} gets a warning`,
      document: providersOf({ ...LOCAL, base_url: `https://models.example.com/v1/${end}` }),
      expected: [
        `warning providers[0].base_url: the path of each request is added to this URL, so write it without \`/${end}\``,
      ],
    })),
    ...["https://models.example.com/v1/", "https://models.example.com", "https://x.example/models"].map((url) => ({
      name: `a base_url ${url} gets none`,
      document: providersOf({ ...LOCAL, base_url: url }),
      expected: [],
    })),
    {
      name: "a base_url with a fragment is refused",
      document: providersOf({ ...LOCAL, base_url: "https://models.example.com/v1#top" }),
      expected: ["providers[0].base_url: the root URL must not have a query or fragment (`?`, `#`)"],
    },
    {
      name: "a credential that nearly exists is suggested",
      document: documentOf({
        credentials: [{ name: "openai-key", api_key: "k" }],
        providers: [{ preset: "openai", credential: "opnai-key" }],
      }),
      expected: [
        'providers[0].credential: "opnai-key" is no entry of `credentials` of this document; did you mean "openai-key"?',
      ],
    },
    {
      name: "what stands where a credential's name belongs is not repeated, since it may be the credential",
      document: documentOf({
        credentials: [{ name: "openai-key", api_key: "k" }],
        providers: [{ preset: "openai", credential: "sk-live-0123456789" }],
      }),
      expected: [
        'providers[0].credential: this names no entry of `credentials` of this document, which has "openai-key"',
      ],
    },
    {
      name: "a credential that acts as an OAuth client is refused for a provider",
      document: documentOf({
        credentials: [
          { name: "o", oauth: { token_url: "https://id.example.com/token", client_id: "c", client_secret: "s" } },
        ],
        providers: [{ preset: "openai", credential: "o" }],
      }),
      expected: [
        "providers[0].credential: this names a credential of kind `oauth`; a provider needs one with `api_key` or `cloudsig`",
      ],
    },
    {
      name: "with auth a provider needs a credential of its own",
      document: documentOf({ auth: { virtual_keys: true, issuers: [] }, providers: [{ preset: "openai" }] }),
      expected: [
        "providers[0]: with `auth` a provider needs an `api_key` or a `credential`, since the caller's credential is not forwarded",
      ],
    },
    {
      name: "an empty alias and one with a star are refused",
      document: providersOf({ ...OPENAI, model_aliases: { "": "gpt-5", "fast-*": "gpt-5" } }),
      expected: [
        'providers[0].model_aliases[""]: an alias cannot be empty: it is the model name that clients ask for',
        'providers[0].model_aliases["fast-*"]: an alias is one model name; patterns with `*` are only allowed in `models`',
      ],
    },
    {
      name: "a timeout of zero is refused",
      document: providersOf({ ...OPENAI, first_byte_timeout: "0s", retry: retry({ when: ["timeout"] }) }),
      expected: ["providers[0].first_byte_timeout: expected a duration above zero"],
    },
    {
      name: "a first wait above the longest wait gets a warning",
      document: providersOf({ ...OPENAI, retry: retry({ backoff: "3s" }) }),
      expected: [
        "warning providers[0].retry: `backoff` is longer than `max_backoff`, so every wait is as long as `max_backoff`",
      ],
    },
    {
      name: "failover to a provider that does not exist is refused, and the nearest name given",
      document: providersOf({ ...OPENAI, failover: failover(["locl"]) }, LOCAL),
      expected: ['providers[0].failover.to[0]: "locl" is no provider of this document; did you mean "local"?'],
    },
    {
      name: "failover to itself is refused",
      document: providersOf({ ...OPENAI, failover: failover(["openai"]) }),
      expected: ["providers[0].failover.to[0]: a provider cannot fail over to itself; `retry` repeats at the same one"],
    },
    {
      name: "failover to one provider twice is refused",
      document: providersOf({ ...OPENAI, failover: failover(["local", "local"]) }, LOCAL),
      expected: ['providers[0].failover.to[1]: "local" is in this list already; each is tried once'],
    },
    {
      name: "a timeout trigger of retry needs first_byte_timeout",
      document: providersOf({ ...OPENAI, retry: retry({ when: ["timeout"] }) }),
      expected: ["providers[0]: this provider needs a `first_byte_timeout`, because its `retry.when` names `timeout`"],
    },
    {
      name: "a timeout trigger of failover needs first_byte_timeout here and at each candidate",
      document: providersOf({ ...OPENAI, failover: failover(["local"], ["timeout"]) }, LOCAL),
      expected: [
        "providers[0]: this provider needs a `first_byte_timeout`, because its `failover.when` names `timeout`",
        'providers[1]: this provider needs a `first_byte_timeout`, because `failover.when` of provider "openai" names `timeout`',
      ],
    },
    {
      name: "first_byte_timeout at a candidate is fired by the failover that lists it",
      document: providersOf(
        { ...OPENAI, first_byte_timeout: "10s", failover: failover(["local"], ["timeout"]) },
        { ...LOCAL, first_byte_timeout: "20s" },
      ),
      expected: [],
    },
    {
      name: "first_byte_timeout without a trigger is refused",
      document: providersOf({ ...OPENAI, first_byte_timeout: "10s", retry: retry({}) }),
      expected: [
        "providers[0].first_byte_timeout: this timeout has no effect: add `timeout` to `retry.when` or `failover.when` here, or to `failover.when` of a provider that lists this one",
      ],
    },
    {
      name: "a default provider that does not exist is refused",
      document: documentOf({ providers: [OPENAI], default_provider: "opnai" }),
      expected: ['default_provider: "opnai" is no provider of this document; did you mean "openai"?'],
    },
    {
      name: "a default provider without any provider is refused",
      document: documentOf({ default_provider: "openai" }),
      expected: ["default_provider: this names no provider of this document, which has none"],
    },
    {
      name: "one provider without models is the default",
      document: providersOf({ preset: "openai" }),
      expected: [],
    },
    {
      name: "several providers that claim nothing and have no default get a warning",
      document: providersOf({ preset: "openai" }, { preset: "anthropic" }),
      expected: [
        "warning providers: no request can be routed: no provider has `models` or `model_aliases`, and `default_provider` is not set",
      ],
    },
    {
      name: "a provider that no request can reach gets a warning",
      document: providersOf(OPENAI, { preset: "anthropic" }),
      expected: [
        "warning providers[1]: no request reaches this provider: it has no `models` or `model_aliases`, it is not the `default_provider`, and no `failover.to` names it",
      ],
    },
    {
      name: "a provider that only failover reaches is reached",
      document: providersOf({ ...OPENAI, failover: failover(["anthropic"]) }, { preset: "anthropic" }),
      expected: [],
    },
    {
      name: "of two providers that claim one model the first serves it",
      document: providersOf(LOCAL, { ...LOCAL, name: "other" }),
      expected: [
        'warning providers[1].models[0]: this model is never served here: provider "local" comes first and claims "llama"',
      ],
    },
    {
      name: "a model and an alias behind an earlier prefix get a warning",
      document: providersOf(OPENAI, {
        ...LOCAL,
        models: ["gpt-oss", "gpt-4*", "llama"],
        model_aliases: { "gpt-mine": "m" },
      }),
      expected: [
        'warning providers[1].models[0]: this model is never served here: provider "openai" comes first and claims "gpt-*"',
        'warning providers[1].models[1]: this model is never served here: provider "openai" comes first and claims "gpt-*"',
        'warning providers[1].model_aliases.gpt-mine: this alias is never served here: provider "openai" comes first and claims "gpt-*"',
      ],
    },
    {
      name: "an alias that counts where an earlier provider fails over to this one is no mistake",
      document: providersOf(
        { ...OPENAI, failover: failover(["local"]) },
        { ...LOCAL, models: ["gpt-oss"], model_aliases: { "gpt-mine": "m" } },
      ),
      expected: [
        'warning providers[1].models[0]: this model is never served here: provider "openai" comes first and claims "gpt-*"',
      ],
    },
    {
      name: "an exact model before a prefix that covers it shadows nothing",
      document: providersOf(LOCAL, { preset: "openai", models: ["llam*", "*"] }),
      expected: [],
    },
    {
      name: "an alias that is a model of the same provider shadows nothing",
      document: providersOf({ ...OPENAI, model_aliases: { "gpt-4": "gpt-5" } }),
      expected: [],
    },
  ];

for (const { name, document, expected } of CASES) {
  test(name, () => assert.deepEqual(problemsOf(document), expected));
}

test("each of ten thousand claims shadowed by an earlier one is reported", () => {
  const models = Array.from({ length: 10_000 }, (_, at) => `model-${at}`);
  const document = providersOf({ ...LOCAL, models }, { ...LOCAL, name: "second", models });
  assert.equal(problemsOf(document).length, 10_000);
});
