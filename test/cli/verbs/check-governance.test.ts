/** `gateway check` of callers, profiles, budgets and rules, in the test's process. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { execute } from "../../../src/cli/main.ts";
import { type Document, type Files, writeFiles } from "../../e2e/support/config.ts";
import { bufferIo } from "../buffer-io.ts";

/** Runs offline; returns the status, and the lines about the configuration without the document's path. */
async function check(files: Files): Promise<{ readonly status: number; readonly lines: readonly string[] }> {
  const io = bufferIo({ env: { KEY: "k" } });
  const status = await execute(["check", "-config", files.nodePath, "-offline"], io);
  const deployment = `${join(files.dir, "deployment.yaml")}:`;
  const lines = io.out().split("\n");
  return {
    status,
    lines: lines.filter((line) => line.includes(deployment)).map((line) => line.replace(deployment, "")),
  };
}

const CORP: Document = {
  issuers: [{ name: "corp", url: "https://id.example.com" }],
  admin: { local_socket: "admin.sock", policy_file: "p.cedar", issuers: [{ issuer: "corp", audience: "admin" }] },
};

test("a rule that can never match and a feature that no caller can use are notes", async (t) => {
  const files = await writeFiles(
    t,
    `providers: [{preset: openai, api_key: "\${KEY}", models: [gpt-*]}, {preset: anthropic, api_key: "\${KEY}", models: [claude-*]}]
auth: {virtual_keys: true}
budgets: [{name: spare, limit: 1}]
profiles: [{name: team, allowed_models: [llama]}]
access_rules:
  - {name: typo, at: [llm], condition: provider == 'opnai', action: deny}
  - {name: never, condition: 1 > 2, action: deny}
  - {name: "off", at: [a2a], condition: peer == 'travel', action: deny}
`,
  );
  const { status, lines } = await check(files);
  assert.equal(status, 0, lines.join("\n"));
  assert.deepEqual(lines, [
    "note  configuration: 3:11: budgets[0]: warning: this budget is never used: no profile's `budget` names it",
    "note  configuration: 4:42: profiles[0].allowed_models[0]: warning: allows nothing: no provider lists such a model, and there is no `default_provider`",
    "note  configuration: 6:40: access_rules[0].condition: warning: column 13: there is no provider `opnai`, did you mean `openai`?: the rule never matches",
    "note  configuration: 7:30: access_rules[1].condition: warning: is always false: the rule never matches",
    "note  configuration: 8:41: access_rules[2].condition: warning: column 9: there is no agent `travel`: the rule never matches",
  ]);
});

test("governance that cannot be compiled fails the check, each problem at its place", async (t) => {
  const files = await writeFiles(
    t,
    `auth:
  issuers:
    - {issuer: crop, audience: models, subject: user}
    - {issuer: corp, audience: admin, subject: agent}
budgets: [{name: b, limit: 1, window: 10ms, cost: {type: CEL, cel: tokens}}, {name: c, limit: 1, cost: {type: CEL, cel: tokens}}]
profiles: [{name: p, budget: b, require_caps: [tool]}, {name: q, budget: c}]
access_rules: [{name: r, condition: model == 'x', action: deny}]
`,
    CORP,
  );
  const { status, lines } = await check(files);
  assert.equal(status, 1);
  assert.deepEqual(
    lines.filter((line) => line.startsWith("fail")).map((line) => / (\d+:\d+: \S+): /.exec(line)?.[1]),
    [
      "3:16: auth.issuers[0].issuer",
      "4:32: auth.issuers[1].audience",
      "5:39: budgets[0].window",
      "5:121: budgets[1].cost.cel",
      "7:37: access_rules[0].condition",
      "6:48: profiles[0].require_caps[0]",
    ],
    lines.join("\n"),
  );
});
