import assert from "node:assert/strict";
import { test } from "node:test";
import { type Deployment, readDeployment } from "../../../../../src/server/core/config/index.ts";

const NO_SECRETS = { kind: "problem", message: "there are no secrets here" } as const;

function read(text: string): { readonly document: Deployment | undefined; readonly problems: readonly string[] } {
  const { document, problems } = readDeployment(
    { name: "d.yaml", text },
    { env: (name) => `value of ${name}`, secret: () => NO_SECRETS, file: () => NO_SECRETS },
  );
  return { document, problems: problems.map((it) => `${it.line}:${it.column} ${it.path}: ${it.message}`) };
}

/** Problems without those about missing sections and about literal credentials in these samples. */
const faultsOf = (text: string): readonly string[] =>
  read(text).problems.filter((problem) => !/not supported by this version|a credential is written out/.test(problem));

test("a document is read with references resolved and defaults filled in", () => {
  const { document, problems } = read(`
version: 7
providers:
  - preset: openai
    api_key: \${OPENAI_API_KEY}
    models: [gpt-*]
    retry: {attempts: 2}
`);
  assert.deepEqual(problems, []);
  assert.deepEqual(document, {
    version: 7,
    max_body_bytes: 0,
    credentials: [],
    catalog_overlays: [],
    on_fidelity_loss: "reject",
    providers: [
      {
        preset: "openai",
        api_key: "value of OPENAI_API_KEY",
        models: ["gpt-*"],
        retry: {
          attempts: 2,
          when: ["connect", "5xx", "429"],
          backoff: "200ms",
          max_backoff: "2s",
          retry_after_cap: "5s",
        },
      },
    ],
  });
});

test("a cross-check problem has its line", () => {
  assert.deepEqual(
    faultsOf(`providers:
  - preset: openai
    models: [gpt-*]
    failover:
      to: [anthropc]
  - preset: anthropic
    models: ["*"]
`),
    ['5:12 providers[0].failover.to[0]: "anthropc" is no provider of this document; did you mean "anthropic"?'],
  );
});

test("a pattern problem is reported with an example", () => {
  assert.deepEqual(faultsOf('providers: [{preset: openai, models: ["gpt-*-mini"]}]'), [
    '1:39 providers[0].models[0]: expected a text such as "gpt-5" that matches `^([^*]+\\*?|\\*)$`, found "gpt-*-mini"',
  ]);
});

const SECTIONS: readonly (readonly [behaviour: string, text: string, faults: readonly string[]])[] = [
  [
    "auth that accepts nobody gets a warning, and profiles that do not exist are refused",
    `auth:
  issuers:
    - {issuer: corp, audience: gw, subject: user, profile: devs, profiles: {claim: groups, select: [{value: a, profile: dev}]}}
profiles: [{name: dev}]
`,
    ['3:60 auth.issuers[0].profile: "devs" is no profile of this document; did you mean "dev"?'],
  ],
  [
    "auth without any source gets a warning",
    "auth: {virtual_keys: false}",
    ["1:7 auth: `auth` accepts no credential, so every request is refused: set `virtual_keys: true` or name `issuers`"],
  ],
  [
    "an expression goes with the cost type CEL",
    `budgets:
  - {name: a, limit: 1, cost: {type: CEL}}
  - {name: b, limit: 1, cost: {cel: "1"}}
auth: {virtual_keys: true}
profiles: [{name: a, budget: a}, {name: b, budget: b}]
`,
    [
      "2:31 budgets[0].cost: cost of type `CEL` needs the expression in `cel`",
      "3:37 budgets[1].cost.cel: `cel` is read only with `type: CEL`",
    ],
  ],
  [
    "a profile names budgets, subsets and detectors that exist",
    `providers: [{name: own, dialect: compat, api_key: k, pool: {service: "http://m:80", subsets: [{name: gold, service: g}]}}]
budgets: [{name: small, limit: 1}]
guardrails: {detectors: [{type: pii}]}
auth: {virtual_keys: true}
profiles:
  - {name: a, budget: smal, pool_subset: golf, guardrails: {detectors: [pi]}}
  - {name: b, budget: small, pool_subset: gold, guardrails: {detectors: [pii]}}
`,
    [
      '6:23 profiles[0].budget: "smal" is no budget of this document; did you mean "small"?',
      '6:42 profiles[0].pool_subset: "golf" is no subset of a pool of this document; did you mean "gold"?',
      '6:73 profiles[0].guardrails.detectors[0]: "pi" is no detector of this document; did you mean "pii"?',
    ],
  ],
  [
    "a detector that a rule reads cannot be left out, unless the profile is exempt as a whole",
    `guardrails:
  detectors: [{type: pii}, {type: pii, name: cards}]
  rules:
    - {name: all, action: annotate}
    - {name: some, action: annotate, requires: [pii]}
profiles:
  - {name: a, guardrails: {detectors: [pii]}}
  - {name: b, guardrails: {detectors: []}}
auth: {virtual_keys: true}
`,
    [
      '7:39 profiles[0].guardrails.detectors: detector "cards" cannot be left out: guardrail rule "all" has no `requires`, so it needs every detector',
    ],
  ],
  [
    "a token exchange says what it asks for",
    `credentials:
  - {name: a, token_exchange: {issuer: i, client_id: c, client_secret: s}}
  - {name: b, token_exchange: {issuer: i, client_id: c, client_secret: s, grant: on_behalf_of}}
  - {name: c, cloudsig: {session_token: t}}
`,
    [
      "2:31 credentials[0].token_exchange: the grant `token_exchange` needs an `audience` or a `resource`",
      "3:31 credentials[1].token_exchange: the grant `on_behalf_of` needs an entry in `scopes` that names the target",
      "4:41 credentials[2].cloudsig.session_token: a session token needs `access_key_id` and `secret_access_key`",
    ],
  ],
  [
    "what a client secret is sent to is encrypted or of this machine, and is no place where a machine's keys are",
    `credentials:
  - {name: a, oauth: {token_url: "http://login.example.com/token", client_id: c, client_secret: s}}
  - {name: b, oauth: {token_url: "https://login.example.com/token#x", client_id: c, client_secret: s}}
  - {name: c, oauth: {token_url: "https://0xA9FEA9FE/token", client_id: c, client_secret: s}}
  - {name: d, oauth: {token_url: "http://127.0.0.1:8080/token", client_id: c, client_secret: s}}
`,
    [
      "2:34 credentials[0].oauth.token_url: the client secret is sent there, so the URL must begin with `https://`, unless it is on this machine",
      "3:34 credentials[1].oauth.token_url: the URL of a token endpoint must not have a fragment (`#`)",
      "4:34 credentials[2].oauth.token_url: this address is link-local, where machines serve the keys of their cloud account: the gateway never connects to it",
    ],
  ],
  [
    "a resource is a URI, and what a grant does not send gets a warning",
    `credentials:
  - {name: a, token_exchange: {issuer: i, client_id: c, client_secret: s, resource: tools}}
  - {name: b, token_exchange: {issuer: i, client_id: c, client_secret: s, resource: "https://t/#x"}}
  - {name: c, token_exchange: {issuer: i, client_id: c, client_secret: s, grant: on_behalf_of, scopes: [a], audience: t}}
`,
    [
      "2:85 credentials[0].token_exchange.resource: a resource must be an absolute URI without a fragment (`#`)",
      "3:85 credentials[1].token_exchange.resource: a resource must be an absolute URI without a fragment (`#`)",
      "4:119 credentials[2].token_exchange.audience: the grant `on_behalf_of` does not use this key: name the target in `scopes`",
    ],
  ],
  [
    "nothing is asked where machines keep their own keys, however the address is written",
    `providers: [{name: a, dialect: compat, base_url: "http://169.254.169.254/v1"}]
mcp: [{name: b, url: "http://[::ffff:169.254.170.2]/mcp"}, {name: c, url: "http://2852039166/mcp"}]
a2a: [{name: d, url: "http://[fe80::1]/a2a", card_url: "http://[fd00:ec2::254]/card"}]
`,
    ["1:50 providers[0].base_url", "2:22 mcp[0].url", "2:75 mcp[1].url", "3:22 a2a[0].url", "3:56 a2a[0].card_url"].map(
      (place) =>
        `${place}: this address is link-local, where machines serve the keys of their cloud account: the gateway never connects to it`,
    ),
  ],
  [
    "a picker without a certificate has none to skip",
    `providers: [{name: own, dialect: compat, pool: {service: "http://m:80", picker: {service: "http://p:9002", insecure_skip_verify: true}}}]`,
    [
      "1:130 providers[0].pool.picker.insecure_skip_verify: this key has no effect, since the `service` of this picker is `http://` and has no certificate",
    ],
  ],
  [
    "servers and agents take credentials that exist and that they can present, and restore needs its key",
    `credentials: [{name: signer, cloudsig: {}}]
mcp:
  - {name: a, url: "http://a", credential: signer}
  - {name: b, url: "http://b", credential: sginer}
a2a:
  - {name: c, url: "http://c", restore: [CREDIT_CARD]}
`,
    [
      "3:44 mcp[0].credential: this names a credential of kind `cloudsig`, which only providers support",
      '4:44 mcp[1].credential: "sginer" is no entry of `credentials` of this document; did you mean "signer"?',
      "6:41 a2a[0].restore: `restore` needs `guardrails.fpe_key`, which decrypts the values",
    ],
  ],
  [
    "periods of reconciliation that will be corrected get a warning, and each provider is audited once",
    `providers: [{preset: openai, api_key: k}]
reconcile:
  lookback: 60h
  retention: 50h
  providers:
    - {provider: openai, type: compat, admin_key: k}
    - {provider: openai, type: compat, admin_key: k}
    - {provider: opnai, type: compat, admin_key: k}
`,
    [
      "3:13 reconcile.lookback: shorter than `maturity_lag` and a day: widened to 72h",
      "4:14 reconcile.retention: does not exceed `lookback`: widened to 96h",
      "6:51 reconcile.providers[0].admin_key: this is the key that requests are sent with; reports need the key of an administrator",
      '7:7 reconcile.providers[1]: two audited providers have the name "openai", the first is entry 1 of this list',
      "7:51 reconcile.providers[1].admin_key: this is the key that requests are sent with; reports need the key of an administrator",
      '8:18 reconcile.providers[2].provider: "opnai" is no provider of this document; did you mean "openai"?',
    ],
  ],
  [
    "a lookback beyond 248 days gets a warning, and a negative retention keeps forever",
    "providers: [{preset: openai}]\nreconcile: {lookback: 6000h, retention: -1s, providers: [{provider: openai, type: compat, admin_key: k}]}",
    ["2:23 reconcile.lookback: longer than 248 days: narrowed to 5952h"],
  ],
  [
    "a lag that no lookback reaches over judges nothing, and nor does an empty list; a retention of the lookback is none",
    "reconcile: {maturity_lag: 5953h, lookback: 5952h, retention: 5952h, interval: 59s}",
    [
      "1:12 reconcile: no provider is reconciled: `providers` is empty",
      "1:27 reconcile.maturity_lag: longer than 5928h: no day within the longest lookback would be judged",
      "1:62 reconcile.retention: does not exceed `lookback`: widened to 5976h",
      "1:79 reconcile.interval: shorter than a minute: providers may answer such frequent polling with 429",
    ],
  ],
  [
    "bounds that are just kept get no warning",
    "providers: [{preset: openai}]\nreconcile: {interval: 1m, maturity_lag: 5928h, lookback: 5952h, retention: 5953h, providers: [{provider: openai, type: compat, admin_key: k}]}",
    [],
  ],
  [
    "a detector has the object of its type and no other",
    `guardrails:
  detectors:
    - {type: remote}
    - {type: pii, llm: {provider: p, model: m, labels: [A], prompt: q}, narrow_spans: true}
providers: [{preset: p}]
`,
    [
      "3:7 guardrails.detectors[0]: a detector of type `remote` needs the object `remote`",
      "4:24 guardrails.detectors[1].llm: `llm` is not read by a detector of type `pii`",
      "4:87 guardrails.detectors[1].narrow_spans: `narrow_spans` is read only with `role: confirm`",
    ],
  ],
  [
    "a model detector knows where graph and tokenizer are",
    `guardrails:
  detectors:
    - {type: nlp, nlp: {}}
    - {type: classify, classify: {ref: x, stride: 600}}
    - {type: nlp, name: far, nlp: {model: a, tokenizer: t, remote: {endpoint: "http://s", model: m}}}
    - {type: embed, embed: {library: l, tokenizer: t, remote: {endpoint: "http://s", model: m}, topics: [{name: t, examples: [a]}], background: [b]}}
`,
    [
      "3:24 guardrails.detectors[0].nlp: this needs `tokenizer` or `ref`",
      "3:24 guardrails.detectors[0].nlp: this needs `model`, `ref` or `remote`",
      "4:40 guardrails.detectors[1].classify.ref: this names no declared model of this document, which has none",
      "4:51 guardrails.detectors[1].classify.stride: `stride` must be less than `max_tokens`",
      "5:43 guardrails.detectors[2].nlp.model: with `remote` the graph runs on the server: remove `model`",
      "6:38 guardrails.detectors[3].embed.library: with `remote` no graph runs on this machine: remove `library`",
    ],
  ],
  [
    "a judge's provider exists, and guard codes take no context",
    `guardrails:
  detectors:
    - {type: llm, llm: {provider: opnai, model: m, labels: [A], prompt: q, format: guard_codes, context: [user]}}
providers: [{preset: openai}]
`,
    [
      '3:35 guardrails.detectors[0].llm.provider: "opnai" is no provider of this document; did you mean "openai"?',
      "3:106 guardrails.detectors[0].llm.context: a judge with `format: guard_codes` does not support `context`",
    ],
  ],
  [
    "a recognizer finds something, and a validator has what it computes with",
    `guardrails:
  detectors:
    - type: pii
      custom_recognizers:
        - {name: a, entity: A}
        - {name: b, entity: B, deny_list: [x], validator: {kind: weighted, weights: [1]}}
        - {name: c, entity: C, deny_list: [x], validator: {kind: crc32_base62}}
`,
    [
      "5:11 guardrails.detectors[0].custom_recognizers[0]: a recognizer needs `patterns` or a `deny_list`",
      "6:59 guardrails.detectors[0].custom_recognizers[1].validator: a validator of kind `weighted` needs `weights` and `modulus`",
      "7:59 guardrails.detectors[0].custom_recognizers[2].validator: a validator of kind `crc32_base62` needs `sum_len`",
    ],
  ],
  [
    "a guardrail rule requires detectors that exist, and its operator has its key",
    `guardrails:
  detectors: [{type: pii}]
  rules:
    - {name: a, action: redact, operator: fpe, requires: [pi]}
    - {name: b, action: redact, operator: pseudonym}
    - {name: b, action: deny, operator: pseudonym}
`,
    [
      "4:43 guardrails.rules[0].operator: the operator `fpe` needs `guardrails.fpe_key`",
      '4:59 guardrails.rules[0].requires[0]: "pi" is no detector of this document; did you mean "pii"?',
      "5:43 guardrails.rules[1].operator: the operator `pseudonym` needs `guardrails.pseudonym_key`",
      '6:7 guardrails.rules[2]: two guardrail rules have the name "b", the first is entry 2 of this list',
    ],
  ],
  [
    "a model has a hub or files, and not both",
    `guardrails:
  detectors:
    - {type: nlp, name: a, nlp: {ref: a}}
    - {type: nlp, name: b, nlp: {ref: b}}
    - {type: nlp, name: c, nlp: {ref: c}}
models:
  models:
    - {name: a}
    - {name: b, hub: {repo: o/n, revision: 0123456789abcdef0123456789abcdef01234567}, files: [{role: model, url: "http://f", sha256: "${"0".repeat(64)}", size: 1}]}
    - {name: c, hub: {repo: o/n, revision: 0123456789abcdef0123456789abcdef01234567}, files: []}
`,
    [
      "8:7 models.models[0]: a model needs `hub` or `files`",
      "9:7 models.models[1]: with `hub` the files come from the hub: remove `files`",
    ],
  ],
];

for (const [behaviour, text, faults] of SECTIONS) {
  test(behaviour, () => assert.deepEqual(faultsOf(text), faults));
}
