import assert from "node:assert/strict";
import { test } from "node:test";
import { deploymentSchema, overlaySchema } from "../../../../../src/server/core/config/deployment/index.ts";
import { fillDefaults } from "../../../../../src/server/core/config/schema/defaults.ts";
import type { JsonSchema } from "../../../../../src/server/core/config/schema/schema.ts";
import { validate } from "../../../../../src/server/core/config/schema/validate.ts";

/** Returns `keyword at /place`, sorted. */
const faults = (schema: JsonSchema, value: unknown): readonly string[] =>
  validate(schema, value)
    .map(({ keyword, instancePath }) => `${keyword} at ${instancePath}`)
    .sort();

const faultsOf = (value: unknown): readonly string[] => faults(deploymentSchema.json, value);

const provider = (keys: object): object => ({ providers: [{ preset: "openai", ...keys }] });

test("the whole schema compiles under the strict settings, and an empty document is valid", () => {
  assert.deepEqual(faultsOf({}), []);
});

test("every key of this version is accepted", () => {
  const document = {
    version: 1,
    max_body_bytes: 0,
    credentials: [{ name: "a", api_key: "k" }],
    catalog_overlays: [{ name: "o", providers: [{ op: "remove", name: "xai" }] }],
    providers: [
      {
        name: "main",
        preset: "openai",
        base_url: "https://models.example.com/v1",
        region: "eu",
        credential: "a",
        models: ["gpt-5", "o*", "*"],
        model_aliases: { fast: "gpt-5-mini" },
        stream_usage: false,
        first_byte_timeout: "1m30s",
        retry: { attempts: 5, when: ["timeout"], backoff: "1ms", max_backoff: "1s", retry_after_cap: "1s" },
        failover: { to: ["b"], when: ["429"] },
        on_fidelity_loss: "reject",
      },
      { name: "b", dialect: "messages", base_url: "http://127.0.0.1:1", api_key: "k" },
    ],
    default_provider: "b",
    on_fidelity_loss: "reject",
  };
  assert.deepEqual(faultsOf(document), []);
});

test("defaults are those of the specification", () => {
  const document = provider({ retry: { attempts: 1 }, failover: { to: ["b"] } });
  fillDefaults(deploymentSchema.json, document);
  assert.deepEqual(document, {
    max_body_bytes: 0,
    credentials: [],
    catalog_overlays: [],
    on_fidelity_loss: "reject",
    providers: [
      {
        preset: "openai",
        retry: {
          attempts: 1,
          when: ["connect", "5xx", "429"],
          backoff: "200ms",
          max_backoff: "2s",
          retry_after_cap: "5s",
        },
        failover: { to: ["b"], when: ["connect", "5xx", "429"] },
      },
    ],
  });
});

const HOPS: Readonly<Record<string, unknown>> = {
  mcp: [
    {
      name: "search",
      url: "https://mcp.example.com/mcp",
      registry: {
        name: "com.example/search",
        description: "Searches.",
        icons: [{ src: "https://example.com/i.png", sizes: ["48x48", "any"], theme: "dark" }],
      },
    },
  ],
  a2a: [{ name: "peer", url: "https://peer.example.com/rpc", card_url: "https://peer.example.com/card.json" }],
  a2a_cards: { signing_keys: ["-----BEGIN PRIVATE KEY-----"] },
};

for (const [key, value] of Object.entries(HOPS)) {
  test(`${key} is described completely`, () => {
    assert.deepEqual(faultsOf({ [key]: value }), []);
  });
}

test("reconcile is described completely", () => {
  const reconcile = { retention: "-1s", providers: [{ provider: "openai", type: "compat", admin_key: "k" }] };
  assert.deepEqual(faultsOf({ reconcile }), []);
});

const GUARDRAILS: Readonly<Record<string, unknown>> = {
  guardrails: {
    detectors: [
      {
        type: "pii",
        custom_recognizers: [
          {
            name: "BadgeRecognizer",
            entity: "BADGE",
            patterns: [{ regex: "B\\d{6}", score: 0.5 }],
            validator: { kind: "weighted", weights: [1, 2], modulus: 11 },
            examples: [{ text: "B123456", finds: ["B123456"] }],
          },
        ],
      },
      { type: "remote", remote: { endpoint: "http://127.0.0.1:3000" } },
      { type: "nlp", nlp: { ref: "ner" } },
      { type: "llm", llm: { provider: "openai", model: "m", labels: ["UNSAFE"], prompt: "p", context: ["user"] } },
      { type: "classify", classify: { model: "a.onnx", tokenizer: "t.json", negative: [] } },
      {
        type: "embed",
        embed: { ref: "e", topics: [{ name: "weather", examples: ["rain"] }], background: ["hello"] },
      },
    ],
    rules: [{ name: "r", action: "redact", operator: "fpe", requires: [] }],
    fpe_key: "00".repeat(32),
    fpe_alphabets: { CREDIT_CARD: "digits" },
    stream: { policy: "buffer" },
    async: { timeout: "5s" },
  },
};

test("guardrails are described completely", () => {
  assert.deepEqual(faultsOf(GUARDRAILS), []);
});

test("governance is described completely", () => {
  assert.deepEqual(
    faultsOf({
      ...provider({ metadata: { a: "b" }, cost_per_session: 0 }),
      auth: {
        virtual_keys: true,
        issuers: [
          {
            issuer: "corp",
            audience: "gw",
            subject: "user",
            profile: "",
            profiles: { claim: "groups", trust_claim: false, select: [{ value: "a", profile: "p" }] },
          },
        ],
      },
      budgets: [{ name: "b", limit: 10, window: "12h", shared: true, cost: { type: "CEL", cel: "1" } }],
      profiles: [
        {
          name: "p",
          allowed_models: ["gpt-*"],
          require_caps: ["tools"],
          budget: "b",
          access_rules: [{ name: "r", condition: "true", action: "allow" }],
        },
        { name: "q", budget: "" },
      ],
      public_url: "https://gateway.example.com",
      access_rules: [
        {
          name: "r",
          at: ["llm", "mcp", "a2a"],
          condition: "true",
          action: "deny",
          message: "no",
          on_error: "fail_open",
          controls: ["AI-1"],
        },
      ],
    }),
    [],
  );
});

test("a pool with subsets and a picker is accepted", () => {
  const picker = { service: "http://picker.svc:9002", on_error: "refuse", timeout: "250ms" };
  const subsets = [{ name: "gold", service: "gold.svc" }];
  assert.deepEqual(faultsOf(provider({ pool: { service: "http://models.svc:8000", subsets, picker } })), []);
});

const REFUSED: readonly (readonly [why: string, document: object, fault: string])[] = [
  ["an unknown key", { provider: [] }, "additionalProperties at "],
  ["a version of zero", { version: 0 }, "minimum at /version"],
  ["a negative body limit", { max_body_bytes: -1 }, "minimum at /max_body_bytes"],
  ["a star inside a model", provider({ models: ["gpt-*-mini"] }), "pattern at /providers/0/models/0"],
  ["two stars at the end of a model", provider({ models: ["gpt-**"] }), "pattern at /providers/0/models/0"],
  ["an empty model", provider({ models: [""] }), "pattern at /providers/0/models/0"],
  ["a duplicate model", provider({ models: ["a", "a"] }), "uniqueItems at /providers/0/models"],
  ["an empty target of an alias", provider({ model_aliases: { a: "" } }), "minLength at /providers/0/model_aliases/a"],
  ["a name with a slash", provider({ name: "a/b" }), "pattern at /providers/0/name"],
  ["a name with a space", provider({ name: "a b" }), "pattern at /providers/0/name"],
  ["a name outside ASCII", provider({ name: "modèle" }), "pattern at /providers/0/name"],
  ["an empty name", provider({ name: "" }), "pattern at /providers/0/name"],
  ["a preset with a dialect", provider({ dialect: "compat" }), "x-one-of at /providers/0"],
  ["neither preset nor dialect", { providers: [{ name: "a" }] }, "x-one-of at /providers/0"],
  ["a key with a credential", provider({ api_key: "k", credential: "c" }), "x-exclusive at /providers/0"],
  ["a base_url with a user", provider({ base_url: "https://u:p@a.example.com" }), "format at /providers/0/base_url"],
  ["no repetitions", provider({ retry: { attempts: 0 } }), "minimum at /providers/0/retry/attempts"],
  ["six repetitions", provider({ retry: { attempts: 6 } }), "maximum at /providers/0/retry/attempts"],
  ["retry without attempts", provider({ retry: {} }), "required at /providers/0/retry"],
  ["an unknown trigger", provider({ retry: { attempts: 1, when: ["4xx"] } }), "enum at /providers/0/retry/when/0"],
  ["no trigger", provider({ retry: { attempts: 1, when: [] } }), "minItems at /providers/0/retry/when"],
  ["failover to an empty list", provider({ failover: { to: [] } }), "minItems at /providers/0/failover/to"],
  ["a duration without a unit", provider({ first_byte_timeout: "10" }), "format at /providers/0/first_byte_timeout"],
  [
    "an invalid window length",
    { budgets: [{ name: "b", limit: 1, window: "fortnight" }] },
    "pattern at /budgets/0/window",
  ],
  ["a budget without a limit", { budgets: [{ name: "b" }] }, "required at /budgets/0"],
  ["a negative limit", { budgets: [{ name: "b", limit: -1 }] }, "minimum at /budgets/0/limit"],
  ["a session cost that adds units", provider({ cost_per_session: -1 }), "minimum at /providers/0/cost_per_session"],
  ["a public_url that is a path", { public_url: "/gateway" }, "format at /public_url"],
  ["a public_url with a user", { public_url: "https://u:p@g.example.com" }, "format at /public_url"],
  ["a public_url of another scheme", { public_url: "ws://g.example.com" }, "format at /public_url"],
  [
    "a rule at an unknown hop",
    { access_rules: [{ name: "r", at: ["tcp"], condition: "true", action: "deny" }] },
    "enum at /access_rules/0/at/0",
  ],
  ["a rule without a condition", { access_rules: [{ name: "r", action: "deny" }] }, "required at /access_rules/0"],
  [
    "a control with a space",
    { access_rules: [{ name: "r", condition: "true", action: "deny", controls: ["a b"] }] },
    "pattern at /access_rules/0/controls/0",
  ],
  [
    "a duplicate control",
    { access_rules: [{ name: "r", condition: "true", action: "deny", controls: ["a", "a"] }] },
    "uniqueItems at /access_rules/0/controls",
  ],
  [
    "an issuer without an audience",
    { auth: { issuers: [{ issuer: "corp", subject: "user" }] } },
    "required at /auth/issuers/0",
  ],
  [
    "an invalid subject",
    { auth: { issuers: [{ issuer: "corp", audience: "a", subject: "bot" }] } },
    "enum at /auth/issuers/0/subject",
  ],
  [
    "an empty selection",
    {
      auth: {
        issuers: [{ issuer: "corp", audience: "a", subject: "user", profiles: { claim: "groups", select: [] } }],
      },
    },
    "minItems at /auth/issuers/0/profiles/select",
  ],
  ["a credential of unknown kind", { credentials: [{ name: "a" }] }, "x-one-of at /credentials/0"],
  ["a credential without a name", { credentials: [{ api_key: "k" }] }, "required at /credentials/0"],
];

for (const [why, document, fault] of REFUSED) {
  test(`a document is refused: ${why}`, () => assert.deepEqual(faultsOf(document), [fault]));
}

test("problems inside a section are reported", () => {
  assert.deepEqual(faultsOf({ reconcile: { retention: 1 } }), ["type at /reconcile/retention"]);
  assert.deepEqual(
    faultsOf({ guardrails: { rules: [{ name: "r", action: "redact", kinds: ["header"] }], fpe_key: "0011" } }),
    ["enum at /guardrails/rules/0/kinds/0", "pattern at /guardrails/fpe_key"],
  );
});

test("an overlay file is one operation", () => {
  assert.deepEqual(
    faults(overlaySchema.json, {
      op: "add",
      name: "house",
      schema: { name: "compat" },
      base_url: "https://{region}.example.com/v1",
      set_request_fields: { store: false, metadata: { a: [1, null] } },
      channels: [{ id: "own", models: ["a*"], caps: ["tools"], verified_at: "2026-05-01", path_prefix: "" }],
    }),
    [],
  );
  assert.deepEqual(faults(overlaySchema.json, { op: "merge", name: "house" }), ["enum at /op"]);
  assert.deepEqual(
    faults(overlaySchema.json, { op: "patch", name: "house", channels: [{ id: "a", verified_at: "2026" }] }),
    ["format at /channels/0/verified_at"],
  );
});

/** Yields every object of the printed schema, so that no key lacks a description. */
function* keysOf(schema: JsonSchema, path: string): Generator<readonly [string, JsonSchema]> {
  yield [path, schema];
  const {
    properties = {},
    items,
    additionalProperties,
  } = schema as {
    properties?: Readonly<Record<string, JsonSchema>>;
    items?: JsonSchema;
    additionalProperties?: JsonSchema | false;
  };
  for (const [name, key] of Object.entries(properties)) yield* keysOf(key, `${path}.${name}`);
  if (items !== undefined) yield* keysOf(items, `${path}[]`);
  if (typeof additionalProperties === "object") yield* keysOf(additionalProperties, `${path}{}`);
}

test("every key has a description that is a full sentence", () => {
  const keys = [...keysOf(deploymentSchema.json, "")];
  assert.ok(keys.length > 300, `only ${keys.length} keys`);
  assert.deepEqual(
    keys
      .filter(([, { description }]) => typeof description !== "string" || !description.endsWith("."))
      .map(([path]) => path),
    [],
  );
});

const SECRETS = new Set([
  "api_key",
  "client_secret",
  "secret_access_key",
  "access_key_id",
  "session_token",
  "admin_key",
  "token",
  "pseudonym_key",
  "fpe_key",
  "signing_keys[]",
  "headers{}",
]);

test("every key with a credential is marked, and no other", () => {
  const marked = [...keysOf(deploymentSchema.json, "")].flatMap(([path, schema]) =>
    "x-secret" in schema ? [path.slice(path.lastIndexOf(".") + 1)] : [],
  );
  assert.deepEqual(new Set(marked), SECRETS);
});

/** Besides credentials: addresses that are called, header values, and settings that belong to a credential. */
const MAY_BE_SECRET = new Set([
  "base_url",
  "service",
  "set_request_headers{}",
  "token_url",
  "client_id",
  "url",
  "card_url",
  "endpoint",
]);

test("secrets are allowed in addresses and credentials, and references are not allowed in names", () => {
  const marked = (mark: string) =>
    [...keysOf(deploymentSchema.json, "")].flatMap(([path, schema]) =>
      schema["x-references"] === mark && schema["x-secret"] === undefined
        ? [path.slice(path.lastIndexOf(".") + 1)]
        : [],
    );
  assert.deepEqual(new Set([...marked("any"), ...marked("header")]), MAY_BE_SECRET);
  assert.deepEqual(new Set(marked("none")), new Set(["name", "id"]));
});

test("a token of a model hub must be a reference", () => {
  const token = [...keysOf(deploymentSchema.json, "")].find(([path]) => path.endsWith(".hub.token"));
  assert.equal(token?.[1]["x-secret"], "reference");
});
