/** `gateway check` of a configuration with callers: its report, and its requests. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { execute } from "../../../src/cli/main.ts";
import { type Document, writeFiles } from "../../e2e/support/config.ts";
import { startOidc } from "../../e2e/support/oidc.ts";
import type { Owner } from "../../e2e/support/wait.ts";
import { bufferIo } from "../buffer-io.ts";

/** A literal credential would cause a warning. */
const KEY = "$" + "{KEY}";
const PROVIDER = { name: "one", dialect: "compat", base_url: "http://127.0.0.1:9/v1", models: ["m*"], api_key: KEY };

async function check(owner: Owner, deployment: Document, node: Document, ...flags: readonly string[]) {
  const files = await writeFiles(owner, { providers: [PROVIDER], ...deployment }, node);
  const io = bufferIo({ env: { KEY: "k" } });
  const status = await execute(["check", "-config", files.nodePath, ...flags], io);
  return { status, out: io.out(), lines: io.out().split("\n").slice(0, -1) };
}

const issuers = (url: string): Document => ({ issuers: [{ name: "corp", url }] });
const NODE = issuers("http://127.0.0.1:9");

test("without `auth` and `public_url` the check says what the gateway will do", async (t) => {
  const { lines } = await check(t, {}, {}, "-offline");
  assert.ok(lines.includes("note  node: accepts every request without a credential, since `auth` is not set"));
  assert.ok(lines.includes("note  node: does not know its own URL, since `public_url` is not set"));
});

test("each source of credentials is a line with the profile of its callers", async (t) => {
  const profiles = { claim: "groups", select: [{ value: "lab", profile: "research" }] };
  const deployment = {
    public_url: "https://models.example.com/",
    auth: {
      virtual_keys: true,
      issuers: [
        { issuer: "corp", audience: "models", subject: "user", profile: "staff", profiles },
        { issuer: "corp", audience: "batch", subject: "agent" },
      ],
    },
    profiles: [{ name: "staff" }, { name: "research" }],
  };
  const { status, lines, out } = await check(t, deployment, NODE, "-offline");
  assert.equal(status, 0, out);
  const found = lines.filter((line) => /^note {2}node: (accepts|refuses v|names|also)/.test(line));
  assert.deepEqual(found, [
    "note  node: names https://models.example.com as its URL",
    "note  node: accepts virtual keys",
    "note  node: accepts tokens of corp for the audience models, from users, with the profile that the claim groups selects, otherwise the profile staff",
    "note  node: accepts tokens of corp for the audience batch, from agents, with no profile",
    "note  node: also accepts tokens of these issuers for the audience https://models.example.com, and, for each MCP server, for the server's URL below it",
  ]);
});

test("keys that are not accepted are reported as refused", async (t) => {
  const auth = { issuers: [{ issuer: "corp", audience: "models", subject: "user" }] };
  const { lines } = await check(t, { auth }, NODE, "-offline");
  assert.ok(lines.includes("note  node: refuses virtual keys, since `auth.virtual_keys` is not true"));
});

test("profiles, budgets and rules of both layers are counted", async (t) => {
  const rule = { name: "r", at: ["llm"], condition: 'model == "m1"', action: "deny" };
  const { lines } = await check(
    t,
    {
      auth: { virtual_keys: true },
      budgets: [{ name: "b", limit: 10 }],
      profiles: [{ name: "p", budget: "b", access_rules: [rule] }, { name: "q" }],
      access_rules: [rule],
    },
    {},
    "-offline",
  );
  assert.match(lines[0] ?? "", /^ok {4}configuration: .*: 1 provider, 2 profiles, 1 budget, 2 access rules$/);
});

test("a rule that does not compile fails with its place, and one that can never match is noted", async (t) => {
  const rule = (condition: string): Document => ({ name: "r", at: ["llm"], condition, action: "deny" });
  const broken = await check(t, { access_rules: [rule("modle == 1")] }, {}, "-offline");
  assert.equal(broken.status, 1);
  assert.match(broken.out, /^fail {2}configuration: .*deployment\.yaml:1:\d+: access_rules\[0\]\.condition: .*modle/m);
  const idle = await check(t, { access_rules: [rule('provider == "two"')] }, {}, "-offline");
  assert.equal(idle.status, 0, idle.out);
  assert.match(
    idle.out,
    /^note {2}configuration: .*access_rules\[0\]\.condition: warning: .*there is no provider `two`/m,
  );
});

test("an issuer used only by the data plane is asked for its keys", async (t) => {
  const { issuer } = await startOidc(t);
  const auth = { issuers: [{ issuer: "corp", audience: "models", subject: "user" }] };
  const { lines } = await check(t, { auth }, issuers(issuer));
  assert.ok(lines.includes(`ok    issuer corp: ${issuer}/jwks has 1 key`), lines.join("\n"));
  const silent = await check(t, { auth }, NODE);
  assert.equal(silent.status, 1);
  assert.match(silent.out, /^fail {2}issuer corp: discovery: /m);
});
