// tier: test
/**
 * From a pack to its evidence: `pack add` writes the document, a gateway serves it, a rule of the pack denies a
 * request, its audit record has the controls, and the table, SQL and the exported trail count how often each was
 * served.
 */
import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { parse } from "yaml";
import { chat, mint, say, startGoverned } from "../governance/support/governed.ts";
import { runProgram } from "../support/gateway.ts";
import { eventually } from "../support/wait.ts";

const file = { after };
const PACKS = ["baseline-pii", "baseline-secrets", "payments"];
const CVV = "my cvv is 123";
const CARD = "4111 1111 1111 1111";

const directory = await mkdtemp(join(tmpdir(), "gateway-evidence-"));
file.after(() => rm(directory, { recursive: true }));
const document = join(directory, "deployment.yaml");
const added = await verb("pack", "add", "-deployment", document, "-write", ...PACKS);
assert.equal(added.status, 0, added.err);

async function verb(...args: readonly string[]) {
  const program = runProgram(file, { args });
  const { status } = await program.ended;
  return { status, out: program.stdout(), err: program.stderr() };
}

const { node, gateway, nodes } = await startGoverned(file, {
  deployment: parse(await readFile(document, "utf8")) as Record<string, unknown>,
});
const { client } = node;

const controls = async () =>
  new Map((await client.call("list_controls")).items.map((row) => [row.control, row] as const));

test("before any decision the controls are listed with their rules and packs, with no evidence", async () => {
  const all = await controls();
  assert.deepEqual(all.get("pci-dss-4.0.1:3.3.1"), {
    control: "pci-dss-4.0.1:3.3.1",
    pack: "payments",
    rules: ["deny-card-verification-code"],
    decisions: 0,
    node: "n1",
  });
  const shared = all.get("owasp-llm-2026:LLM02");
  assert.deepEqual(shared?.rules.toSorted(), [
    "deny-secret-output",
    "redact-pii-input",
    "redact-pii-output",
    "redact-secret-input",
  ]);
  assert.equal(shared?.pack, "baseline-pii,baseline-secrets,owasp-llm-2026");
});

test("a request denied by a rule is evidence for its controls, the same on every surface", async () => {
  const key = await mint(node, "till");
  const ask = (content: string) => say(gateway, { key, body: chat({ messages: [{ role: "user", content }] }) });
  const { index } = await client.call("list_controls");
  const changed = client.call("list_controls", { query: { index, wait: "30s" } }, { timeLimitMs: 40_000 });
  const denied = [await ask(CVV), await ask(CVV)];
  assert.deepEqual(
    denied.map(({ status, code }) => [status, code]),
    [
      [403, "guardrail_denied"],
      [403, "guardrail_denied"],
    ],
  );
  assert.equal((await ask(`charge ${CARD}`)).status, 200);
  assert.ok(
    (await changed).items.some(({ decisions }) => decisions > 0),
    "a waiting read was not answered",
  );

  // Records and counts come from other threads and processes of the node.
  await eventually("the records of all three requests", async () => {
    const { items } = await client.call("list_audit_records", { query: { event: "guardrail.decision" } });
    return items.length >= 3 && ((await controls()).get("pci-dss-4.0.1:3.5.1")?.decisions ?? 0) > 0;
  });
  const { items: records } = await client.call("list_audit_records", { query: { event: "guardrail.decision" } });
  const carried = records.filter(({ controls: own }) => own.includes("pci-dss-4.0.1:3.3.1"));
  assert.equal(carried.length, 2);

  await eventually("both denials", async () => ((await controls()).get("pci-dss-4.0.1:3.3.1")?.decisions ?? 0) >= 2);
  const served = await controls();
  assert.equal(served.get("pci-dss-4.0.1:3.3.1")?.decisions, 2);
  assert.equal(served.get("pci-dss-4.0.1:3.5.1")?.decisions, 1);
  const { rows } = await client.call("run_query", {
    body: { sql: "select control, rules, decisions from controls where decisions > 0 order by decisions desc" },
  });
  assert.deepEqual(rows[0], ["pci-dss-4.0.1:3.3.1", '["deny-card-verification-code"]', 2]);

  const trail = join(directory, "trail.jsonl");
  await eventually("the records in the trail", () =>
    gateway.stderr().split('"event":"guardrail.decision"').length > 3 ? true : undefined,
  );
  await writeFile(trail, nodes.map((it) => it.gateway.stderr()).join(""));
  const verified = await verb("audit", "verify", "-controls", trail);
  assert.equal(verified.status, 0, verified.out + verified.err);
  assert.match(verified.out, /^control +decisions$/m);
  assert.match(verified.out, /^pci-dss-4\.0\.1:3\.3\.1 +2$/m);
  assert.match(verified.out, /^pci-dss-4\.0\.1:3\.5\.1 +1$/m);

  // Duplicate records are the same decisions; an altered one does not count.
  const twice = await verb("audit", "verify", "-controls", trail, trail);
  assert.match(twice.out, /^pci-dss-4\.0\.1:3\.3\.1 +2$/m);
  const text = await readFile(trail, "utf8");
  await writeFile(trail, text.replace('"pci-dss-4.0.1:3.3.1"', '"pci-dss-4.0.1:3.3.2"'));
  const altered = await verb("audit", "verify", "-controls", trail);
  assert.equal(altered.status, 1);
  assert.match(altered.out, /^pci-dss-4\.0\.1:3\.3\.1 +1$/m);
  assert.ok(!altered.out.includes("3.3.2"));
  assert.match(altered.out, /missing records are not counted/);
  for (const value of [JSON.stringify([...served.values()]), text, verified.out]) {
    for (const secret of [CVV, CARD, key]) assert.ok(!value.includes(secret));
  }
});
