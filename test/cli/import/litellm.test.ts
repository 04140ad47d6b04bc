/** LiteLLM configurations converted to deployment documents. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { ALL, imported } from "./import-fixture.ts";

test("deployments of one name become one route, and a fallback sends its own model for the requested name", () => {
  const { document, notes, variables } = imported(
    "litellm",
    `model_list:
  - model_name: big
    litellm_params: { model: openai/gpt-a, api_key: os.environ/KEY_A, timeout: 30 }
  - model_name: big
    litellm_params: { model: azure/deployed, api_base: https://one.openai.azure.com/, api_key: os.environ/KEY_B, timeout: 40 }
  - model_name: small
    litellm_params: { model: anthropic/claude-s, api_key: os.environ/KEY_C, timeout: 0.5 }
router_settings:
  num_retries: 2
  fallbacks: [{ big: [small] }]
  model_group_alias: { large: big }
`,
  );
  assert.deepEqual(document, {
    providers: [
      {
        preset: "openai",
        api_key: "${KEY_A}",
        model_aliases: { big: "gpt-a", large: "gpt-a" },
        first_byte_timeout: "30s",
        retry: { attempts: 2, when: ALL },
        failover: { to: ["azure-openai", "anthropic"], when: ALL },
      },
      {
        preset: "anthropic",
        api_key: "${KEY_C}",
        model_aliases: { small: "claude-s", big: "claude-s", large: "claude-s" },
        first_byte_timeout: "500ms",
        retry: { attempts: 2, when: ALL },
      },
      {
        preset: "azure-openai",
        base_url: "https://one.openai.azure.com/openai/v1",
        api_key: "${KEY_B}",
        model_aliases: { big: "deployed", large: "deployed" },
        first_byte_timeout: "40s",
        retry: { attempts: 2, when: ALL },
      },
    ],
  });
  assert.deepEqual(notes, ["4 model_list[1].model_name"]);
  assert.deepEqual(variables, ["KEY_A", "KEY_B", "KEY_C"]);
});

test("a fallback to several models goes to each in order", () => {
  const { document } = imported(
    "litellm",
    `model_list:
  - { model_name: big, litellm_params: { model: openai/gpt-a, api_key: os.environ/KEY_A } }
  - { model_name: small, litellm_params: { model: anthropic/claude-s, api_key: os.environ/KEY_B } }
  - { model_name: spare, litellm_params: { model: mistral/m-large, api_key: os.environ/KEY_C } }
router_settings: { fallbacks: [{ big: [spare, small] }] }
`,
  );
  const { providers } = document as { readonly providers: readonly { readonly failover?: { readonly to: unknown } }[] };
  assert.deepEqual(
    providers.flatMap(({ failover }) => failover?.to ?? []),
    ["mistral", "anthropic"],
  );
});

test("when two models fall back to each other, the later one becomes a separate provider behind the first", () => {
  const { document } = imported(
    "litellm",
    `model_list:
  - { model_name: a, litellm_params: { model: groq/m-a, api_key: os.environ/A } }
  - { model_name: b, litellm_params: { model: mistral/m-b, api_key: os.environ/B } }
litellm_settings: { fallbacks: [{ a: [b] }, { b: [a] }] }
`,
  );
  assert.deepEqual(document, {
    providers: [
      { preset: "groq", api_key: "${A}", model_aliases: { a: "m-a" }, failover: { to: ["mistral"] } },
      { preset: "mistral", api_key: "${B}", model_aliases: { b: "m-b", a: "m-b" }, failover: { to: ["groq-2"] } },
      { name: "groq-2", preset: "groq", api_key: "${A}", model_aliases: { b: "m-a" } },
    ],
  });
});

test("a literal key is written nowhere; the same key becomes one variable, and another key another", () => {
  const came = imported(
    "litellm",
    `model_list:
  - { model_name: a, litellm_params: { model: openai/a, api_key: sk-first-literal } }
  - { model_name: b, litellm_params: { model: openai/b, api_key: sk-first-literal } }
  - { model_name: c, litellm_params: { model: openai/c, api_key: sk-other-literal } }
  - { model_name: d, litellm_params: { model: openai/d, api_base: "https://user:hidden@models.example.com/v1?key=hidden", api_key: "none" } }
general_settings: { master_key: sk-master-literal, database_url: "postgres://u:hidden@db" }
environment_variables: { TOKEN: sk-environment-literal }
`,
  );
  assert.doesNotMatch(`${came.text}${came.messages}`, /sk-\w+-literal|hidden/);
  assert.deepEqual(came.variables, ["OPENAI_API_BASE", "OPENAI_API_KEY", "OPENAI_API_KEY_2", "OPENAI_API_KEY_3"]);
  assert.deepEqual(came.document["auth"], { virtual_keys: true });
});

test("name patterns with the same text on both sides are imported, rewriting ones are not, and the last is the default", () => {
  const { document, notes, messages } = imported(
    "litellm",
    `model_list:
  - { model_name: "*", litellm_params: { model: openai/*, api_key: os.environ/A } }
  - { model_name: "claude-*", litellm_params: { model: anthropic/claude-*, api_key: os.environ/B } }
  - { model_name: "groq/*", litellm_params: { model: groq/*, api_key: os.environ/C } }
  - { model_name: "gemini/*", litellm_params: { model: gemini/*, api_key: os.environ/D } }
  - { model_name: "ours/o1*", litellm_params: { model: openai/o1*, api_key: os.environ/E } }
  - { model_name: "mine-*", litellm_params: { model: openai/real-*, api_key: os.environ/F } }
`,
  );
  assert.deepEqual(document, {
    providers: [
      { preset: "anthropic", api_key: "${B}", models: ["claude-*"] },
      { preset: "gemini", api_key: "${D}", models: ["gemini-*"] },
      { preset: "openai", api_key: "${E}", models: ["o1*"] },
      { name: "openai-2", preset: "openai", api_key: "${A}" },
      { preset: "groq", api_key: "${C}" },
    ],
    default_provider: "openai-2",
  });
  assert.deepEqual(
    notes,
    [2, 3, 4, 5].map((at) => `${at + 2} model_list[${at}].model_name`),
  );
  const [groq, gemini, ours, mine] = messages.split("\n");
  assert.match(
    groq ?? "",
    /^serves all models: clients ask for `groq\/NAME`.*Nothing is routed to this provider until/,
  );
  assert.match(
    gemini ?? "",
    /^serves all models: clients ask for `gemini\/NAME`.*Let clients ask for NAME \(gemini-\*\)/,
  );
  assert.match(ours ?? "", /^clients ask for `ours\/o1\*`.*Let clients ask for `o1\*`/);
  assert.match(mine ?? "", /^left out: a pattern cannot change the name that is sent/);
});

test("upstreams of neither dialect, without a name or without a model are reported with their lines", () => {
  const { document, notes } = imported(
    "litellm",
    `model_list:
  - { model_name: a, litellm_params: { model: vertex_ai/gemini } }
  - { model_name: b, litellm_params: { model: unheard-of/b } }
  - { model_name: c, litellm_params: { model: azure/ } }
  - { model_name: d, litellm_params: { model: bedrock/us.anthropic.claude-x, aws_region_name: us-east-1 } }
  - { model_name: e }
  - 7
  - { model_name: f, litellm_params: { model: ollama_chat/llama, api_base: "http://box:11434/api" } }
`,
  );
  assert.deepEqual(document, {
    credentials: [{ name: "bedrock-anthropic", cloudsig: {} }],
    providers: [
      {
        preset: "bedrock-anthropic",
        region: "us-east-1",
        credential: "bedrock-anthropic",
        model_aliases: { d: "us.anthropic.claude-x" },
      },
      { preset: "ollama", base_url: "http://box:11434/v1", model_aliases: { f: "llama" } },
    ],
  });
  assert.deepEqual(notes, [
    "2 model_list[0].litellm_params.model",
    "3 model_list[1].litellm_params.model",
    "4 model_list[2].litellm_params.model",
    "5 model_list[3].litellm_params.model",
    "6 model_list[4]",
    "7 model_list[5]",
  ]);
});

test("guardrails that are always on become detectors and rules; optional ones are reported", () => {
  const { document, notes } = imported(
    "litellm",
    `model_list: [{ model_name: a, litellm_params: { model: openai/a, api_key: os.environ/A } }]
guardrails:
  - guardrail_name: pii
    litellm_params:
      guardrail: presidio
      mode: [pre_call, post_call]
      default_on: true
      pii_entities_config: { CREDIT_CARD: MASK, US_SSN: BLOCK }
  - guardrail_name: sometimes
    litellm_params: { guardrail: presidio, mode: pre_call }
  - guardrail_name: words
    litellm_params: { guardrail: litellm_content_filter, mode: pre_call, default_on: true, blocked_words: [{ keyword: "project x", action: BLOCK }] }
  - guardrail_name: bought
    litellm_params: { guardrail: lakera, mode: pre_call, default_on: true }
`,
  );
  const kinds = ["system", "user", "assistant", "tool_args", "tool_result"];
  assert.deepEqual(document["guardrails"], {
    stream: { policy: "buffer" },
    detectors: [
      {
        type: "remote",
        name: "pii",
        entities: ["CREDIT_CARD", "US_SSN"],
        apply_to: [...kinds, "output"],
        on_error: "fail_closed",
        remote: { endpoint: "${PRESIDIO_ANALYZER_API_BASE}" },
      },
      {
        type: "pii",
        name: "words: blocked words",
        prefilter: "pure",
        entities: ["BLOCKED_WORD"],
        apply_to: kinds,
        on_error: "fail_closed",
        custom_recognizers: [{ name: "words: blocked words", entity: "BLOCKED_WORD", deny_list: ["project x"] }],
      },
    ],
    rules: [
      {
        name: "pii: block",
        when: 'annotations.exists(a, a.type in ["pii/US_SSN"])',
        requires: ["pii"],
        action: "deny",
      },
      {
        name: "pii: mask",
        when: 'annotations.exists(a, a.type in ["pii/CREDIT_CARD"])',
        requires: ["pii"],
        action: "redact",
        select: 'a.type in ["pii/CREDIT_CARD"]',
      },
      {
        name: "words: blocked words",
        when: 'annotations.exists(a, a.type in ["pii/BLOCKED_WORD"])',
        requires: ["words: blocked words"],
        action: "deny",
      },
    ],
  });
  assert.deepEqual(notes, [
    "6 guardrails[0].litellm_params.mode",
    "10 guardrails[1].litellm_params.guardrail",
    "14 guardrails[3].litellm_params.guardrail",
  ]);
});

test("limits of new keys become a profile with a budget; HTTP servers are imported, others reported; retries are limited", () => {
  const { document, notes } = imported(
    "litellm",
    `model_list: [{ model_name: a, litellm_params: { model: openai/a, api_key: os.environ/A, num_retries: 9 } }]
litellm_settings:
  default_key_generate_params: { rpm_limit: 60, models: [a] }
general_settings: { master_key: os.environ/MASTER, max_request_size_mb: 2 }
mcp_servers:
  wiki: { url: https://wiki.example.com/mcp, transport: http, auth_type: bearer_token, auth_value: os.environ/WIKI }
  old: { url: https://old.example.com/sse }
`,
  );
  assert.deepEqual(document, {
    auth: { virtual_keys: true },
    max_body_bytes: 2 * 1024 * 1024,
    providers: [{ preset: "openai", api_key: "${A}", models: ["a"], retry: { attempts: 5 } }],
    budgets: [{ name: "default-key", cost: { type: "CEL", cel: "1" }, limit: 60, window: "minute" }],
    profiles: [{ name: "default-key", budget: "default-key", allowed_models: ["a"] }],
    mcp: [{ name: "wiki", url: "https://wiki.example.com/mcp", api_key: "${WIKI}" }],
  });
  assert.deepEqual(notes, [
    "1 model_list[0].litellm_params.num_retries",
    "4 general_settings.master_key",
    "7 mcp_servers.old",
  ]);
});

test("a literal value takes no variable that the source itself reads, even later in the file", () => {
  const { document, variables } = imported(
    "litellm",
    `model_list:
- { model_name: a, litellm_params: { model: openai/a, api_key: sk-one } }
- { model_name: b, litellm_params: { model: openai/b, api_key: os.environ/OPENAI_API_KEY } }
- { model_name: c, litellm_params: { model: anthropic/c, api_key: sk-two } }
- { model_name: d, litellm_params: { model: anthropic/d } }
`,
  );
  assert.deepEqual(variables, ["ANTHROPIC_API_KEY", "ANTHROPIC_API_KEY_2", "OPENAI_API_KEY", "OPENAI_API_KEY_2"]);
  assert.deepEqual(document["providers"], [
    { preset: "openai", api_key: "${OPENAI_API_KEY_2}", models: ["a"] },
    { name: "openai-2", preset: "openai", api_key: "${OPENAI_API_KEY}", models: ["b"] },
    { preset: "anthropic", api_key: "${ANTHROPIC_API_KEY_2}", models: ["c"] },
    { name: "anthropic-2", preset: "anthropic", api_key: "${ANTHROPIC_API_KEY}", models: ["d"] },
  ]);
});

test("an address with a key in its path is not copied", () => {
  for (const [step, isKept] of [
    ["NTk4ZjQyMzYtYzk5Ny00ODRi", false],
    ["598f4236-c997-484b-9a51-0123456789ab", false],
    ["sk-abc", false],
    ["serving-endpoints", true],
    ["gpt-4o-mini-2024-07-18", true],
  ] as const) {
    const { text, variables } = imported(
      "litellm",
      `model_list:
- { model_name: a, litellm_params: { model: openai/a, api_key: os.environ/K, api_base: "https://h.example/s/${step}/v1" } }
`,
    );
    assert.equal(text.includes(step), isKept, step);
    assert.deepEqual(variables, isKept ? ["K"] : ["K", "OPENAI_API_BASE"]);
  }
});

test("anchors, aliases and merge keys are resolved, and reported with the lines where the text is", () => {
  const { document, notes } = imported(
    "litellm",
    `defaults: &defaults
  api_key: os.environ/A
  rpm: 100
model_list:
  - model_name: a
    litellm_params: { <<: *defaults, model: groq/m-a }
  - model_name: b
    litellm_params: { model: groq/m-b, <<: *defaults, api_key: os.environ/B }
`,
  );
  assert.deepEqual(document, {
    providers: [
      { preset: "groq", api_key: "${A}", model_aliases: { a: "m-a" } },
      { name: "groq-2", preset: "groq", api_key: "${B}", model_aliases: { b: "m-b" } },
    ],
  });
  assert.deepEqual(notes, ["1 defaults", "3 model_list[0].litellm_params.rpm", "3 model_list[1].litellm_params.rpm"]);
});

test("a credential from the credential list applies to a deployment without its own", () => {
  const { document, notes, text } = imported(
    "litellm",
    `model_list:
  - { model_name: a, litellm_params: { model: azure/m-a, litellm_credential_name: ours } }
  - { model_name: b, litellm_params: { model: groq/m-b, litellm_credential_name: nobody's, api_key: os.environ/B } }
credential_list:
  - credential_name: ours
    credential_values: { api_key: sk-literal, api_base: "https://one.openai.azure.com", api_version: "2024" }
    credential_info: { description: x }
`,
  );
  assert.deepEqual(document, {
    providers: [
      {
        preset: "azure-openai",
        base_url: "https://one.openai.azure.com/openai/v1",
        api_key: "${AZURE_API_KEY}",
        model_aliases: { a: "m-a" },
      },
      { preset: "groq", api_key: "${B}", model_aliases: { b: "m-b" } },
    ],
  });
  assert.deepEqual(notes, [
    "3 model_list[1].litellm_params.litellm_credential_name",
    "6 credential_list[0].credential_values.api_key",
    "6 credential_list[0].credential_values.api_version",
  ]);
  assert.doesNotMatch(text, /sk-literal/);
});

test("text of an omitted part names no variable, and each path in a note is in the file", () => {
  const { variables, notes, text } = imported(
    "litellm",
    `model_list:
  - { model_name: a, litellm_params: { model: openai/gpt-a, api_key: os.environ/K } }
  - { model_name: "bad*name", litellm_params: { model: groq/x, api_key: os.environ/LEFT_OUT_1 } }
mcp_servers:
  stdio: { transport: stdio, command: x, auth_type: bearer_token, auth_value: os.environ/LEFT_OUT_2 }
  sse: { url: os.environ/LEFT_OUT_3, auth_type: bearer_token, auth_value: sk-literal }
`,
  );
  assert.deepEqual(variables, ["K"]);
  assert.doesNotMatch(text, /LEFT_OUT|sk-literal|SSE_MCP_TOKEN/);
  assert.deepEqual(notes, ["3 model_list[1].model_name", "5 mcp_servers.stdio.transport", "6 mcp_servers.sse"]);
});

test("a document that spends a key without asking callers for one says so, and one that asks does not", () => {
  const spends = "model_list: [{ model_name: a, litellm_params: { model: openai/a, api_key: os.environ/K } }]\n";
  assert.match(
    imported("litellm", spends).text,
    /the document has no `auth`, so anybody who reaches the gateway can use the keys/,
  );
  const config = `${spends}general_settings: { master_key: os.environ/M }\n`;
  assert.doesNotMatch(imported("litellm", config).text, /the document has no `auth`/);
  const keyless = 'model_list: [{ model_name: a, litellm_params: { model: ollama/a, api_base: "http://box:11434" } }]';
  assert.doesNotMatch(imported("litellm", keyless).text, /the document has no `auth`/);
});
