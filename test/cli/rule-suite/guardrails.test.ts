/** Guardrail cases of suites: passing ones, the output of failing ones, and invalid suites. */

import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { execute } from "../../../src/cli/main.ts";
import { bufferIo } from "../buffer-io.ts";

const NODE = {
  listen: "127.0.0.1:0",
  metrics_listen: "none",
  deployment: "deployment.yaml",
  cluster: { node_id: "n", data_dir: "data", bootstrap: true },
};

const GUARDRAILS = {
  detectors: [
    { type: "pii", prefilter: "pure", entities: ["CREDIT_CARD", "US_SSN", "EMAIL_ADDRESS"] },
    { type: "pii", name: "hosts", prefilter: "pure", entities: ["IP_ADDRESS"], apply_to: ["tool_result"] },
  ],
  rules: [
    { name: "no-ssn", when: '"pii/US_SSN" in labels', action: "deny", message: "Numbers of persons stay here." },
    { name: "no-large", requires: [], when: 'model == "large" && key.name == "k"', action: "deny" },
    { name: "cards", action: "redact", select: 'a.label == "CREDIT_CARD"' },
  ],
};

async function suite(t: TestContext, cases: string, guardrails: object | undefined = GUARDRAILS) {
  const dir = mkdtempSync(join(tmpdir(), "rule-suite-"));
  t.after(() => rmSync(dir, { recursive: true }));
  const deployment = {
    auth: { virtual_keys: true },
    providers: [{ name: "p", dialect: "compat", base_url: "http://127.0.0.1:9/v1", api_key: "${KEY}" }],
    profiles: [{ name: "free", guardrails: { detectors: [] } }],
    ...(guardrails !== undefined && { guardrails }),
  };
  const head = "suite: s\ncallers:\n  k: { key: { name: k } }\n  free: { key: { name: f }, profile: free }\ncases:\n";
  writeFileSync(join(dir, "node.yaml"), JSON.stringify(NODE));
  writeFileSync(join(dir, "deployment.yaml"), JSON.stringify(deployment));
  writeFileSync(
    join(dir, "s.yaml"),
    head + cases.replaceAll(/^- /gm, "  - caller: k\n    ").replaceAll(/^ {2}(?=\w)/gm, "    "),
  );
  const io = bufferIo({ cwd: dir, env: { KEY: "k" } });
  const status = await execute(["-config", "node.yaml", "-test-rules", "s.yaml"], io);
  return { status, out: io.out(), err: io.err() };
}

const CASES = `\
- name: a card is rewritten
  guardrail: { text: my card 4111 1111 1111 1111 }
  expect: redact
  by: cards
  rewritten: my card <CREDIT_CARD>
  types: [pii/CREDIT_CARD]
- name: a number of a person is refused
  guardrail: { kind: system, text: ssn 536-90-4399 }
  expect: deny
  by: { rule: no-ssn }
  message: Numbers of persons stay here.
- name: a mail is only found
  guardrail: { text: a@example.com }
  expect: allow
  types: [pii/EMAIL_ADDRESS]
- name: a model is refused to a key
  guardrail: { text: hi, model: large }
  expect: deny
  by: no-large
`;

test("cases pass if the gateway would do the same, and rules that decided none are named", async (t) => {
  const all = await suite(t, CASES);
  assert.deepEqual([all.status, all.err], [0, ""], all.out);
  assert.equal(
    all.out,
    `ok    s: a card is rewritten: rewritten by cards to "my card <CREDIT_CARD>"
ok    s: a number of a person is refused: denied by no-ssn: Numbers of persons stay here.
ok    s: a mail is only found: allowed by no rule
ok    s: a model is refused to a key: denied by no-large: denied by guardrail rule no-large
4 cases: 4 pass, 0 fail
all 3 rules have a case
`,
  );
  const few = await suite(t, CASES.split("- name: a number")[0] ?? "");
  assert.match(few.out, /^rules without a case: no-ssn \(guardrails\), no-large \(guardrails\)$/m);
});

test("a failing case prints what was found, what was dropped and why, and which detectors were not called", async (t) => {
  const { status, out } = await suite(
    t,
    `- name: wrong digit
  guardrail: { text: card 4111 1111 1111 1112 of a@example.com }
  expect: redact
`,
  );
  assert.equal(status, 1);
  assert.match(
    out,
    /^fail {2}s: wrong digit: s\.yaml:6:5: expected redact; allowed by no rule; found pii\/EMAIL_ADDRESS 28\.\.41 \(1\.00 by pii\/EmailRecognizer\/[^)]+\); does not count: pii\/CREDIT_CARD 5\.\.24 \(its check digit or another check disproves it\); not asked: hosts: it reads tool_result$/m,
  );
});

const MISTAKES: readonly [text: string, words: RegExp][] = [
  ["- name: it\n  expect: deny\n", /a case needs either a `request` .* or a `guardrail` with a text/],
  ["- name: it\n  guardrail: { text: a }\n  expect: allow\n  rewritten: b\n", /only possible with `expect: redact`/],
  [
    "- name: it\n  guardrail: { text: a }\n  expect: deny\n  by: no-sns\n",
    /no such guardrail rule; did you mean `no-ssn`\?/,
  ],
  ["- name: it\n  guardrail: { text: a }\n  expect: allow\n  reaches: [p]\n", /only possible for an allowed request/],
  ["- name: it\n  request: { model: m }\n  expect: redact\n", /redact` is only possible with a `guardrail/],
  [
    "- name: it\n  request: { model: m }\n  expect: allow\n  types: [pii/X]\n",
    /types: this key is only possible with a `guardrail`/,
  ],
  ["- name: it\n  guardrail: { text: a, kind: prompt }\n  expect: allow\n", /kind: expected `system`, /],
];

for (const [text, message] of MISTAKES) {
  test(`a suite is refused: ${text.trim().split("\n").slice(1).join(", ")}`, async (t) => {
    const { status, out, err } = await suite(t, text);
    assert.deepEqual([status, out], [1, ""]);
    assert.match(err, message);
  });
}

test("without guardrails a guardrail case is an error", async (t) => {
  const { err } = await suite(t, "- name: it\n  guardrail: { text: a }\n  expect: allow\n", {});
  assert.match(err, /the deployment has no `guardrails`/);
});
