/** Portkey config objects converted to deployment documents. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { importConfiguration } from "../../../src/cli/import/index.ts";
import { ALL, imported } from "./import-fixture.ts";

test("in a fallback clients request the first target's model, and the next ones get their own", () => {
  const { document, notes } = imported(
    "portkey",
    `{
  "retry": { "attempts": 3, "on_status_codes": [429, 503] },
  "request_timeout": 10000,
  "strategy": { "mode": "fallback" },
  "targets": [
    { "provider": "openai", "api_key": "{{OPENAI_KEY}}", "override_params": { "model": "gpt-a" } },
    { "provider": "anthropic", "virtual_key": "kept-there", "override_params": { "model": "claude-b", "max_tokens": 9 } }
  ],
  "cache": { "mode": "simple" }
}`,
  );
  const both = { first_byte_timeout: "10s", retry: { attempts: 3, when: ALL } };
  assert.deepEqual(document, {
    providers: [
      {
        preset: "openai",
        api_key: "${OPENAI_KEY}",
        models: ["gpt-a"],
        ...both,
        failover: { to: ["anthropic"], when: ALL },
      },
      { preset: "anthropic", api_key: "${ANTHROPIC_API_KEY}", model_aliases: { "gpt-a": "claude-b" }, ...both },
    ],
  });
  assert.deepEqual(notes, [
    "5 targets",
    "7 targets[1].override_params.max_tokens",
    "7 targets[1].virtual_key",
    "9 cache",
  ]);
});

test("of weighted targets the heaviest becomes the default provider, and the others its failover", () => {
  const { document, messages } = imported(
    "portkey",
    `{ "strategy": { "mode": "loadbalance" }, "targets": [
  { "provider": "groq", "api_key": "gsk-literal", "weight": 0.2 },
  { "provider": "@main", "weight": 0.8 }
] }`,
    { main: "openai" },
  );
  assert.deepEqual(document, {
    providers: [
      { preset: "openai", api_key: "${OPENAI_API_KEY}", failover: { to: ["groq"] } },
      { preset: "groq", api_key: "${GROQ_API_KEY}" },
    ],
    default_provider: "openai",
  });
  assert.match(messages, /heaviest target/);
  assert.doesNotMatch(messages, /gsk-literal/);
});

test("conditions on the model select targets; other conditions and Portkey-only names are reported", () => {
  const { document, notes } = imported(
    "portkey",
    `{
  "strategy": { "mode": "conditional", "default": "rest", "conditions": [
    { "query": { "params.model": { "$eq": "fast" } }, "then": "quick" },
    { "query": { "metadata.plan": { "$eq": "paid" } }, "then": "quick" }
  ] },
  "targets": [
    { "name": "quick", "provider": "groq", "api_key": "$GROQ", "override_params": { "model": "llama" } },
    { "name": "rest", "provider": "openai", "api_key": "$OPENAI" },
    { "name": "unknown", "virtual_key": "vk-1" }
  ]
}`,
  );
  assert.deepEqual(document, {
    providers: [
      { preset: "groq", api_key: "${GROQ}", model_aliases: { fast: "llama" } },
      { preset: "openai", api_key: "${OPENAI}" },
    ],
    default_provider: "openai",
  });
  assert.deepEqual(notes, ["4 strategy.conditions[1].query", "9 targets[2].virtual_key"]);
});

test("a single provider at a private address, on Azure and on AWS is imported", () => {
  const one = imported("portkey", '{ "provider": "openai", "custom_host": "http://box:8000/v1", "api_key": "$K" }');
  assert.deepEqual(one.document, {
    providers: [{ name: "box", dialect: "compat", base_url: "http://box:8000/v1", api_key: "${K}" }],
    default_provider: "box",
  });
  const azure = imported(
    "portkey",
    '{ "provider": "azure-openai", "resource_name": "ours", "deployment_id": "d", "api_version": "x", "api_key": "$K" }',
  );
  assert.deepEqual(azure.document, {
    providers: [
      { preset: "azure-openai", base_url: "https://ours.openai.azure.com/openai/v1", api_key: "${K}", models: ["d"] },
    ],
  });
  const aws = imported(
    "portkey",
    '{ "provider": "bedrock", "aws_region": "eu-west-1", "aws_access_key_id": "$I", "aws_secret_access_key": "$S" }',
  );
  assert.deepEqual(aws.document, {
    credentials: [{ name: "bedrock", cloudsig: { access_key_id: "${I}", secret_access_key: "${S}" } }],
    providers: [{ preset: "bedrock", region: "eu-west-1", credential: "bedrock" }],
    default_provider: "bedrock",
  });
});

test("denying word lists become detectors; Portkey's own checks and others are reported", () => {
  const { document, notes } = imported(
    "portkey",
    `{ "provider": "openai", "api_key": "$K",
  "input_guardrails": [{ "default.contains": { "operator": "none", "words": ["secret plan"] }, "deny": true }, "pg-kept-there"],
  "after_request_hooks": [{ "type": "guardrail", "checks": [{ "id": "default.wordCount", "parameters": { "maxWords": 5 } }], "deny": true }]
}`,
  );
  assert.deepEqual((document["guardrails"] as { detectors: unknown[] }).detectors.length, 1);
  assert.deepEqual(notes, ["2 input_guardrails[1]", "3 after_request_hooks[0].checks[0].id"]);
});

test("a condition may name a group of targets and several models", () => {
  const { document, notes } = imported(
    "portkey",
    `{
  "strategy": { "mode": "conditional", "default": "rest", "conditions": [
    { "query": { "$or": [{ "params.model": { "$eq": "fast" } }, { "params.model": { "$in": ["quick"] } }] }, "then": "group" },
    { "query": { "$or": [{ "params.model": "x" }, { "metadata.plan": "paid" }] }, "then": "group" },
    { "query": { "params.model": "gone" }, "then": "nowhere" }
  ] },
  "targets": [
    { "name": "group", "strategy": { "mode": "fallback" }, "targets": [
      { "provider": "groq", "api_key": "$GROQ", "override_params": { "model": "llama" } },
      { "provider": "openai", "api_key": "$OPENAI", "override_params": { "model": "gpt-a" } }
    ] },
    { "name": "rest", "strategy": { "mode": "loadbalance" }, "targets": [
      { "provider": "mistral", "api_key": "$M", "weight": 1 }
    ] }
  ]
}`,
  );
  const { providers, default_provider } = document as {
    readonly providers: readonly { readonly preset: string; readonly failover?: { readonly to: readonly string[] } }[];
    readonly default_provider: string;
  };
  assert.deepEqual(
    providers.map(({ preset, failover }) => [preset, failover?.to]),
    [
      ["groq", ["openai"]],
      ["mistral", undefined],
      ["openai", undefined],
    ],
  );
  assert.deepEqual(providers[0], {
    ...providers[0],
    model_aliases: { fast: "llama", quick: "llama" },
  });
  assert.equal(default_provider, "mistral");
  assert.ok(notes.includes("4 strategy.conditions[1].query") && notes.includes("5 strategy.conditions[2]"), `${notes}`);
});

const SUGGESTED: readonly (readonly [name: string, preset: string | undefined])[] = [
  ["openai-prod", "openai"],
  ["my_openai_key", "openai"],
  ["team.anthropic", "anthropic"],
  ["mistral-ai-eu", "mistral"],
  ["together-ai-1", "together"],
  ["groq", "groq"],
  ["openai-or-anthropic", undefined],
  ["prod-key-1", undefined],
];

test("a Portkey name suggests a preset if it contains one provider's name, with a note", () => {
  for (const [name, preset] of SUGGESTED) {
    for (const target of [
      { virtual_key: name, override_params: { model: "m" } },
      { provider: `@${name}`, override_params: { model: "m" } },
      { override_params: { model: `@${name}/m` } },
    ]) {
      const result = importConfiguration("portkey", { name: "source", text: JSON.stringify(target) }, new Map());
      assert.equal(result.kind, "imported");
      if (result.kind !== "imported") return;
      assert.deepEqual(
        result.models.map(({ name, provider }) => [name, provider]),
        preset === undefined ? [] : [["m", preset]],
        JSON.stringify(target),
      );
      const messages = result.notes.map((note) => note.message).join("\n");
      const isPreset = preset === name;
      if (!isPreset) assert.match(messages, preset === undefined ? /only Portkey knows/ : /which its name suggests/);
    }
  }
});
