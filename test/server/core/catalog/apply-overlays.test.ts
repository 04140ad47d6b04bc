import assert from "node:assert/strict";
import { test } from "node:test";
import {
  applyOverlays,
  type CatalogProvider,
  compiledCatalog,
  overlayFileProblem,
} from "../../../../src/server/core/catalog/index.ts";
import type { ProviderOperation } from "../../../../src/server/core/config/index.ts";

const overlay = (source: string, ...providers: readonly ProviderOperation[]) => ({
  source,
  overlay: { name: source, providers },
});

const apply = (...providers: readonly ProviderOperation[]) =>
  applyOverlays(compiledCatalog(), [overlay("site", ...providers)]);

function provider(name: string, ...providers: readonly ProviderOperation[]): CatalogProvider {
  const outcome = apply(...providers);
  assert.equal(outcome.kind, "catalog", JSON.stringify(outcome));
  const found = outcome.catalog.get(name);
  assert.ok(found);
  return found;
}

const ADDED: ProviderOperation = {
  op: "add",
  name: "acme",
  schema: { name: "compat" },
  base_url: "https://llm.acme.example/v1/",
};

test("an added provider has one channel of its dialect with every claim", () => {
  const { channels, provenance, ...facts } = provider("acme", ADDED);
  assert.deepEqual(provenance, ["site"]);
  assert.deepEqual(facts.removeRequestFields, []);
  assert.deepEqual(channels, [
    {
      id: "compat",
      dialect: "compat",
      tier: "provider",
      baseUrl: "https://llm.acme.example/v1",
      pathPrefix: "",
      stripPathPrefix: "",
      models: [],
      caps: undefined,
      servesClaude: false,
      keyHeader: "bearer",
      docs: "",
      verifiedAt: "",
      verifiedBy: "",
    },
  ]);
});

test("an added provider has its fields, headers and prefix as written", () => {
  const added = provider("acme", {
    ...ADDED,
    key_env: "ACME_KEY",
    docs: "https://acme.example/docs",
    strip_path_prefix: "/v1",
    remove_request_fields: ["user"],
    set_request_fields: { store: false, tags: ["a", { b: null }] },
    set_request_headers: { "X-Team": "blue" },
    remove_request_headers: ["X-Debug"],
  });
  assert.equal(added.keyEnv, "ACME_KEY");
  assert.equal(added.channels[0]?.stripPathPrefix, "/v1");
  assert.equal(added.channels[0]?.docs, "https://acme.example/docs");
  assert.deepEqual(
    [...added.setRequestFields],
    [
      ["store", "false"],
      ["tags", '["a",{"b":null}]'],
    ],
  );
  assert.deepEqual([...added.setRequestHeaders], [["x-team", "blue"]]);
  assert.deepEqual(added.removeRequestHeaders, ["x-debug"]);
});

test("a provider that removes a field and lists no claims does not claim what needs the field", () => {
  const caps = provider("acme", { ...ADDED, remove_request_fields: ["seed"] }).channels[0]?.caps;
  assert.ok(caps?.has("tools") && caps.has("chat_completions") && !caps.has("seed"));
});

test("channels override the provider's root and dialect, and the own surface comes first", () => {
  const { channels } = provider("acme", {
    ...ADDED,
    channels: [
      {
        id: "second",
        dialect: "messages",
        tier: "provider_compat",
        base_url: "https://api.anthropic.com",
        verified_at: "2026-11-01",
        verified_by: "platform team",
      },
      { id: "own", path_prefix: "/eu/", models: ["a-*"], caps: ["chat_completions", "tools"] },
    ],
  });
  assert.deepEqual(
    channels.map(({ id, dialect, baseUrl, pathPrefix, keyHeader }) => [id, dialect, baseUrl, pathPrefix, keyHeader]),
    [
      ["own", "compat", "https://llm.acme.example/v1", "/eu", "bearer"],
      ["second", "messages", "https://api.anthropic.com", "", "x-api-key"],
    ],
  );
  assert.deepEqual(channels[0]?.caps, new Set(["chat_completions", "tools"]));
  assert.equal(channels[1]?.verifiedBy, "platform team");
});

test("a replaced provider is defined from scratch and keeps only what an overlay has no key for", () => {
  const replaced = provider("mistral", { ...ADDED, op: "replace", name: "mistral" });
  assert.deepEqual(replaced.removeRequestFields, []);
  assert.equal(replaced.channels[0]?.caps, undefined);
  assert.equal(replaced.renameRequestFields.get("seed"), "random_seed");
  assert.equal(replaced.acceptsStreamUsage, false);
  assert.deepEqual(replaced.provenance, ["compiled", "site"]);
});

test("a replaced provider keeps the header for its key", () => {
  const replaced = provider("azure-openai", { ...ADDED, op: "replace", name: "azure-openai" });
  assert.equal(replaced.channels[0]?.keyHeader, "api-key");
});

test("a patch changes root, key variable and documentation, and nothing else", () => {
  const before = compiledCatalog().get("deepseek");
  const { channels, keyEnv, docs, provenance, ...rest } = provider("deepseek", {
    op: "patch",
    name: "deepseek",
    base_url: "https://relay.example/deepseek/",
    key_env: "RELAY_KEY",
    docs: "https://relay.example",
  });
  assert.equal(keyEnv, "RELAY_KEY");
  assert.equal(docs, "https://relay.example");
  assert.deepEqual(provenance, ["compiled", "site"]);
  assert.deepEqual(
    channels.map(({ baseUrl }) => baseUrl),
    ["https://relay.example/deepseek", "https://api.deepseek.com/anthropic"],
  );
  assert.deepEqual(rest.removeRequestFields, before?.removeRequestFields);
});

test("a patch adds, replaces and removes channels in the written order", () => {
  const { channels } = provider("deepseek", {
    op: "patch",
    name: "deepseek",
    channels: [
      { op: "remove", id: "messages" },
      { op: "add", id: "eu", base_url: "https://eu.example/v1", models: ["deepseek-*"] },
      { op: "replace", id: "compat", caps: ["chat_completions"] },
    ],
  });
  assert.deepEqual(
    channels.map(({ id, dialect, baseUrl, stripPathPrefix, models }) => [
      id,
      dialect,
      baseUrl,
      stripPathPrefix,
      models,
    ]),
    [
      ["compat", "compat", "https://api.deepseek.com", "/v1", []],
      ["eu", "compat", "https://eu.example/v1", "/v1", ["deepseek-*"]],
    ],
  );
  assert.deepEqual(channels[0]?.caps, new Set(["chat_completions"]), "claims are a set of their own, never merged");
});

test("a channel added to a provider with removed fields claims everything except what needs them", () => {
  const { channels } = provider("groq", {
    op: "patch",
    name: "groq",
    channels: [{ op: "add", id: "eu", base_url: "https://eu.example/v1" }],
  });
  const caps = channels.find(({ id }) => id === "eu")?.caps;
  assert.ok(caps?.has("seed") && !caps.has("logprobs"));
});

test("a removed provider is gone and can be added again", () => {
  const outcome = apply({ op: "remove", name: "openai" });
  assert.ok(outcome.kind === "catalog" && !outcome.catalog.has("openai"));
  const again = provider("openai", { op: "remove", name: "openai" }, { ...ADDED, name: "openai" });
  assert.deepEqual(again.provenance, ["site"]);
});

test("overlays apply in order, so the later one wins, and both are in the provenance", () => {
  const patch = (key: string): ProviderOperation => ({ op: "patch", name: "groq", key_env: key });
  const outcome = applyOverlays(compiledCatalog(), [overlay("file", patch("FIRST")), overlay("inline", patch("LAST"))]);
  assert.equal(outcome.kind, "catalog");
  assert.equal(outcome.catalog.get("groq")?.keyEnv, "LAST");
  assert.deepEqual(outcome.catalog.get("groq")?.provenance, ["compiled", "file", "inline"]);
});

test("overlays never change the catalog that they are applied to", () => {
  const catalog = compiledCatalog();
  const before = [...catalog];
  apply({ op: "remove", name: "openai" }, ADDED, { op: "patch", name: "groq", key_env: "X" });
  assert.deepEqual([...catalog], before);
});

test("one refused operation refuses all, and the first problem of every provider is reported with its place", () => {
  const outcome = applyOverlays(compiledCatalog(), [
    overlay("good", ADDED),
    overlay(
      "bad",
      { op: "remove", name: "groq" },
      ADDED,
      { op: "patch", name: "acme", docs: "x" },
      { ...ADDED, op: "patch" },
    ),
    overlay("worse", { op: "patch", name: "nobody", docs: "x" }),
  ]);
  assert.equal(outcome.kind, "refused");
  assert.deepEqual(outcome.problems, [
    {
      overlay: "bad",
      operation: 1,
      message: "add `acme`: the catalog has this provider already; use `replace` or `patch`",
    },
    { overlay: "worse", operation: 0, message: "patch `nobody`: the catalog has no such provider" },
  ]);
});

const COMPAT_CHANNEL = { id: "second", dialect: "messages", tier: "provider_compat" } as const;

const REFUSALS: readonly (readonly [what: string, ProviderOperation, RegExp])[] = [
  ["replace of an absent provider", { ...ADDED, op: "replace" }, /no such provider/],
  ["remove of an absent provider", { op: "remove", name: "acme" }, /no such provider/],
  ["remove with further keys", { op: "remove", name: "groq", docs: "x" }, /docs/],
  [
    "patch of a key that cannot be patched",
    { op: "patch", name: "groq", remove_request_fields: ["n"] },
    /may change only/,
  ],
  ["definition without a root", { op: "add", name: "acme", schema: { name: "compat" } }, /base_url/],
  ["definition without a dialect", { op: "add", name: "acme", base_url: "https://h.example" }, /schema\.name/],
  ["root that is not a URL", { ...ADDED, base_url: "https://h:99999" }, /base_url must be an absolute/],
  ["root with a single brace", { ...ADDED, base_url: "https://h.example/{x" }, /base_url has a brace/],
  [
    "channel root with parent segments",
    { ...ADDED, channels: [{ id: "a", base_url: "https://h/../x" }] },
    /`a`: base_url must not contain/,
  ],
  ["channel with an op outside a patch", { ...ADDED, channels: [{ id: "a", op: "add" }] }, /only under `op: patch`/],
  ["channel without an op in a patch", { op: "patch", name: "groq", channels: [{ id: "a" }] }, /needs its own `op`/],
  ["channels with the same id", { ...ADDED, channels: [{ id: "a" }, { id: "a" }] }, /a/],
  ["unverified second surface", { ...ADDED, channels: [COMPAT_CHANNEL] }, /verified_at.*verified_by/],
  [
    "second surface without a verifier",
    { ...ADDED, channels: [{ ...COMPAT_CHANNEL, verified_at: "2026-11-01" }] },
    /verified_by/,
  ],
  [
    "unknown claim",
    { ...ADDED, channels: [{ id: "a", caps: ["tool"] }] },
    /"tool" is not a capability; did you mean `tools`\?/,
  ],
  [
    "claim of a removed field",
    { ...ADDED, remove_request_fields: ["seed"], channels: [{ id: "a", caps: ["seed"] }] },
    /claims `seed`, but `seed` is taken out/,
  ],
  [
    "claim of a field that the patched provider removes",
    { op: "patch", name: "groq", channels: [{ op: "replace", id: "compat", caps: ["logprobs"] }] },
    /claims `logprobs`, but `top_logprobs` is taken out/,
  ],
  [
    "channel added twice",
    { op: "patch", name: "groq", channels: [{ op: "add", id: "compat", base_url: "https://h.example" }] },
    /`compat` exists already/,
  ],
  [
    "replace of an absent channel",
    { op: "patch", name: "groq", channels: [{ op: "replace", id: "x" }] },
    /no channel `x`/,
  ],
  [
    "remove of an absent channel",
    { op: "patch", name: "groq", channels: [{ op: "remove", id: "x" }] },
    /no channel `x`/,
  ],
  [
    "remove of the last channel",
    { op: "patch", name: "groq", channels: [{ op: "remove", id: "compat" }] },
    /no channel would/,
  ],
  ["header with a line break", { ...ADDED, set_request_headers: { "x-a": "b\r\nc: d" } }, /not allowed in a header/],
];

for (const [what, operation, message] of REFUSALS) {
  test(`an overlay is refused: ${what}`, () => {
    const outcome = apply(operation);
    assert.equal(outcome.kind, "refused");
    assert.equal(outcome.problems.length, 1, JSON.stringify(outcome.problems));
    assert.match(outcome.problems[0]?.message ?? "", message);
  });
}

const RESERVED = `Authorization X-API-Key api-key Host content-length Connection keep-alive proxy-authenticate
  proxy-authorization proxy-connection TE trailer transfer-encoding upgrade`;

for (const header of RESERVED.split(/\s+/)) {
  test(`an overlay that sets the header ${header} is refused`, () => {
    assert.equal(apply({ ...ADDED, set_request_headers: { [header]: "x" } }).kind, "refused");
  });
}

for (const [file, ok] of [
  ["acme.yaml", true],
  ["acme.yml", true],
  ["acme.json", true],
  ["/etc/gateway/overlays/acme.yaml", true],
  ["acme", true],
  ["acme.eu.yaml", false],
  ["other.yaml", false],
] as const) {
  test(`an overlay file ${file} ${ok ? "may" : "may not"} change the provider acme`, () => {
    assert.equal(overlayFileProblem(file, ADDED) === undefined, ok);
  });
}
