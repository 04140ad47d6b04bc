/** Cross-checks of the settings about callers: `auth`, `profiles`, `budgets`, `access_rules`, `public_url`. */

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Deployment, ProviderConfig } from "../../../../../src/server/core/config/deployment/index.ts";
import { documentOf, problemsOf } from "./harness.ts";

const OPENAI: ProviderConfig = { preset: "openai", api_key: "k", models: ["gpt-*"] };

const LOCAL: ProviderConfig = {
  name: "local",
  dialect: "compat",
  base_url: "http://127.0.0.1:8000/v1",
  api_key: "k",
  models: ["llama"],
};

const CORP = { issuer: "corp", audience: "models", subject: "user" } as const;

type Selection = NonNullable<NonNullable<Deployment["auth"]>["issuers"][number]["profiles"]>;

const selecting = (claim: string, more: Partial<Selection> = {}): Deployment =>
  documentOf({
    auth: {
      virtual_keys: true,
      issuers: [{ ...CORP, profiles: { claim, trust_claim: false, select: [{ value: "a", profile: "p" }], ...more } }],
    },
    profiles: [{ name: "p" }],
  });

const KEYS = { virtual_keys: true, issuers: [] } as const;

const DAILY = { name: "daily", limit: 1, window: "day", shared: false } as const;

const CASES: readonly { readonly name: string; readonly document: Deployment; readonly expected: readonly string[] }[] =
  [
    {
      name: "auth that admits nobody gets a warning",
      document: documentOf({ auth: { virtual_keys: false, issuers: [] } }),
      expected: [
        "warning auth: `auth` accepts no credential, so every request is refused: set `virtual_keys: true` or name `issuers`",
      ],
    },
    {
      name: "an issuer may be bound once for each audience",
      document: documentOf({ auth: { ...KEYS, issuers: [CORP, { ...CORP, audience: "other" }, CORP] } }),
      expected: ["auth.issuers[2]: entry 1 of this list accepts this issuer with the same `audience` already"],
    },
    {
      name: "a profile is selected by a claim that the issuer assigns",
      document: selecting("groups"),
      expected: [],
    },
    ...["email", "preferred_username", "upn", "unique_name", "name", "nickname"].map((claim) => ({
      name: `a profile is not selected by ${claim}, which callers can set`,
      document: selecting(claim),
      expected: [
        `auth.issuers[0].profiles.claim: callers can usually set \`${claim}\` themselves; \`trust_claim: true\` says that here they cannot`,
      ],
    })),
    {
      name: "a profile is selected by a claim that callers can set where the document says that they cannot",
      document: selecting("email", { trust_claim: true }),
      expected: [],
    },
    {
      name: "profiles that issuers name exist, and of one value the first choice wins",
      document: selecting("groups", {
        select: [
          { value: "a", profile: "p" },
          { value: "a", profile: "q" },
        ],
      }),
      expected: [
        'auth.issuers[0].profiles.select[1].profile: "q" is no profile of this document; did you mean "p"?',
        "warning auth.issuers[0].profiles.select[1].value: never selects: entry 1 has this value already",
      ],
    },
    {
      name: "two profiles, two budgets and two rules of one list never share a name",
      document: documentOf({
        auth: KEYS,
        profiles: [{ name: "p", budget: "daily" }, { name: "p" }],
        budgets: [DAILY, DAILY],
        access_rules: [
          { name: "r", condition: "true", action: "deny", on_error: "fail_closed" },
          { name: "r", condition: "true", action: "deny", on_error: "fail_closed" },
        ],
      }),
      expected: [
        'budgets[1]: two budgets have the name "daily", the first is entry 1 of this list',
        'profiles[1]: two profiles have the name "p", the first is entry 1 of this list',
        'access_rules[1]: two access rules have the name "r", the first is entry 1 of this list',
      ],
    },
    {
      name: "a budget that does not exist is refused, and the one that was meant is not reported as unused",
      document: documentOf({ auth: KEYS, budgets: [DAILY], profiles: [{ name: "p", budget: "dayly" }] }),
      expected: ['profiles[0].budget: "dayly" is no budget of this document; did you mean "daily"?'],
    },
    {
      name: "a budget that no profile names gets a warning",
      document: documentOf({ auth: KEYS, budgets: [DAILY], profiles: [{ name: "p" }] }),
      expected: ["warning budgets[0]: this budget is never used: no profile's `budget` names it"],
    },
    {
      name: "profiles without auth get a warning",
      document: documentOf({ budgets: [DAILY], profiles: [{ name: "p", budget: "daily" }] }),
      expected: [
        "warning profiles: no caller gets a profile or uses a budget, since without `auth` every caller is anonymous",
      ],
    },
    {
      name: "a profile that no issuer names may be a key's, unless keys are not accepted",
      document: documentOf({
        auth: { virtual_keys: false, issuers: [{ ...CORP, profile: "p" }] },
        profiles: [{ name: "p" }, { name: "q" }],
      }),
      expected: [
        'warning profiles[1]: no caller gets the profile "q": no issuer of `auth` names it, and `virtual_keys` is off',
      ],
    },
    {
      name: "an allowed model that nobody serves gets a warning, with the one that was meant",
      document: documentOf({
        auth: KEYS,
        providers: [OPENAI, { ...LOCAL, model_aliases: { fast: "llama" } }],
        profiles: [{ name: "p", allowed_models: ["gpt-5", "gpt*", "g*", "*", "lama", "llama-3", "fast", "claude-*"] }],
      }),
      expected: [
        'warning profiles[0].allowed_models[4]: allows nothing: no provider lists such a model, and there is no `default_provider`; did you mean "llama"?',
        "warning profiles[0].allowed_models[5]: allows nothing: no provider lists such a model, and there is no `default_provider`",
        "warning profiles[0].allowed_models[7]: allows nothing: no provider lists such a model, and there is no `default_provider`",
      ],
    },
    {
      name: "with a default provider every model is served",
      document: documentOf({
        auth: KEYS,
        providers: [OPENAI],
        profiles: [{ name: "p", allowed_models: ["claude-*"] }],
      }),
      expected: [],
    },
    {
      name: "a public_url may have a path",
      document: documentOf({ public_url: "https://example.com/gateway" }),
      expected: [],
    },
    ...["https://example.com/?a=1", "https://example.com#top"].map((public_url) => ({
      name: `a public_url such as ${public_url} is refused`,
      document: documentOf({ public_url }),
      expected: ["public_url: the URL of the data plane must not have a query or fragment (`?`, `#`)"],
    })),
  ];

for (const { name, document, expected } of CASES) {
  test(name, () => assert.deepEqual(problemsOf(document), expected));
}

test("each of ten thousand allowed models is looked up in as many claims", () => {
  const models = Array.from({ length: 10_000 }, (_, at) => `model-${at}`);
  const document = documentOf({
    auth: KEYS,
    providers: [{ ...OPENAI, models }, LOCAL],
    profiles: [{ name: "p", allowed_models: [...models, ...models.map((model) => `${model}*`), "other-*"] }],
  });
  assert.deepEqual(problemsOf(document), [
    "warning profiles[0].allowed_models[20000]: allows nothing: no provider lists such a model, and there is no `default_provider`",
  ]);
});
