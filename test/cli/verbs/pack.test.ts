/** `gateway pack` in the test's process: the built-in packs, and documents on disk. */

import assert from "node:assert/strict";
import { chmod, cp, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { execute } from "../../../src/cli/main.ts";
import type { Owner } from "../../e2e/support/wait.ts";
import { bufferIo } from "../buffer-io.ts";

const ROOT = join(import.meta.dirname, "../../..");
const IDS = (await readdir(join(ROOT, "packs"))).sort();
/** An order that the base rule allows. */
const ORDERED = [...IDS.filter((id) => id.startsWith("baseline-")), ...IDS.filter((id) => !id.startsWith("baseline-"))];

/** Variables that examples/governance reads. */
const ENV: Readonly<Record<string, string>> = {};

async function run(args: readonly string[], cwd = ROOT, env = ENV) {
  const io = bufferIo({ cwd, env });
  const status = await execute(["pack", ...args], io);
  return { status, out: io.out(), err: io.err() };
}

async function folder(owner: Owner, text?: string | Buffer): Promise<{ readonly dir: string; readonly file: string }> {
  const dir = await mkdtemp(join(tmpdir(), "gateway-pack-"));
  owner.after(() => rm(dir, { recursive: true }));
  const file = join(dir, "deployment.yaml");
  if (text !== undefined) await writeFile(file, text);
  return { dir, file };
}

test("list prints a line per pack with its number of rules and controls", async () => {
  const { status, out, err } = await run(["list"]);
  assert.deepEqual([status, err], [0, ""]);
  const rows = out.trimEnd().split("\n").slice(1);
  assert.deepEqual(
    rows.map((row) => row.split(/\s+/)[0]),
    IDS,
  );
  assert.match(out, /^payments +1\.0\.0 +2 +8 +PCI DSS 4\.0\.1/m);
});

test("show prints README, citations, attached and mapped controls, and the fragment", async () => {
  for (const id of IDS) {
    const { status, out } = await run(["show", id]);
    assert.equal(status, 0);
    for (const part of [`# ${id}`, "## What it does not cover", "## Evidence", "\nControls\n", "\nFragment\n"]) {
      assert.ok(out.includes(part), `${id}: ${part}`);
    }
  }
  const { out } = await run(["show", "payments"]);
  assert.match(out, /pci-dss-4\.0\.1:3\.4\.1 {2}PAN masked when displayed\n {4}PCI DSS 4\.0\.1 \(June 2024\)/);
  assert.match(out, /baseline-pii: redact-pii-input\n {4}pci-dss/);
  assert.match(out, /pci-dss-4\.0\.1:4\.2\.1 {2}tls\.front_door\n/);
});

for (const id of IDS) {
  test(`the cases of ${id} pass, and each of its rules decides one`, async () => {
    const { status, out, err } = await run(["test", id]);
    assert.equal(status, 0, out + err);
    const own = await run(["show", id]);
    const undecided = /rules without a case: (.*)/.exec(out)?.[1] ?? "";
    const fragment = own.out.split("\nFragment\n")[1] ?? "";
    for (const name of undecided.split(", ").map((it) => it.split(" ")[0] ?? "")) {
      assert.ok(name === "" || !fragment.includes(`name: ${name}\n`), `no case decides ${name}`);
    }
  });
}

/** Models that packs need and that documents lack. */
const MODELS = ["prompt-injection", "sentence-embedding"].map(
  (name) => `    - { name: ${name}, hub: { repo: owner/name, revision: "${"0".repeat(40)}" } }\n`,
);

test("added to an example all packs compile, no existing line changes, and adding twice changes nothing", async (t) => {
  const example = await readFile(join(ROOT, "examples/governance/deployment.yaml"), "utf8");
  const text = `${example}models:\n  models:\n${MODELS.join("")}`;
  const { dir, file } = await folder(t, text);
  const first = await run(["add", ...ORDERED], dir);
  assert.equal(first.status, 0, first.err);
  let at = 0;
  const lines = text.split("\n");
  for (const line of first.out.split("\n")) if (line === lines[at]) at += 1;
  assert.equal(at, lines.length);
  assert.equal(await readFile(file, "utf8"), text);
  assert.match(first.err, /^baseline-pii: guardrails\.rules "redact-pii-input" added$/m);
  assert.match(first.err, /^payments: guardrails\.rules "redact-pii-input" controls added: pci-dss-4\.0\.1:3\.4\.1, /m);
  await writeFile(file, first.out);
  const second = await run(["add", "-write", ...ORDERED], dir);
  assert.equal(second.status, 0, second.err);
  assert.match(second.err, /deployment\.yaml already contains everything; nothing was written\n$/);
  assert.equal(await readFile(file, "utf8"), first.out);
});

test("-write creates a missing file, and keeps mode, link, byte order mark and line endings of an existing one", async (t) => {
  const { dir, file } = await folder(t);
  const made = await run(["add", "-write", "baseline-secrets"], dir);
  assert.deepEqual([made.status, made.out], [0, ""]);
  const fresh = await readFile(file, "utf8");
  await writeFile(file, "\ufeff# mine\r\nversion: 3\r\n");
  await chmod(file, 0o640);
  await symlink("deployment.yaml", join(dir, "link.yaml"));
  assert.equal((await run(["add", "-write", "-deployment", "link.yaml", "baseline-secrets"], dir)).status, 0);
  assert.equal(await readFile(file, "utf8"), `\ufeff# mine\r\nversion: 3\r\n${fresh.replaceAll("\n", "\r\n")}`);
  assert.equal((await stat(file)).mode & 0o777, 0o640);
  assert.deepEqual((await readdir(dir)).sort(), ["deployment.yaml", "link.yaml"]);
});

const UPSTREAM =
  "providers:\n  - name: one\n    dialect: compat\n    base_url: https://one.example/v1\n    api_key: $" + "{KEY}\n";

test("an unset variable is named; a secret need not be available here", async (t) => {
  const { dir, file } = await folder(t, UPSTREAM);
  const refused = await run(["add", "-write", "baseline-secrets"], dir);
  assert.deepEqual([refused.status, refused.out], [1, ""]);
  assert.match(refused.err, /environment variable `KEY` is not set\ngateway: nothing was added\n$/);
  assert.equal(await readFile(file, "utf8"), UPSTREAM);
  assert.equal((await run(["add", "-write", "baseline-secrets"], dir, { KEY: "k" })).status, 0);
  const keyed = "guardrails:\n  fpe_key: $" + "{secret:FPE}\n";
  await writeFile(file, keyed);
  const sealed = await run(["add", "baseline-secrets"], dir);
  assert.equal(sealed.status, 0, sealed.err);
});

const REFUSED: readonly (readonly [
  what: string,
  text: string,
  args: readonly string[],
  status: number,
  says: RegExp,
])[] = [
  [
    "an unknown pack",
    "",
    ["baseline-secret"],
    2,
    /no built-in pack 'baseline-secret' \(did you mean 'baseline-secrets'\?\)/,
  ],
  ["a path that is not a directory", "", ["./none"], 2, /'none\/pack\.yaml' cannot be read: there is no such file/],
  ["a duplicate pack", "", ["baseline-pii", "baseline-pii"], 2, /is named twice/],
  [
    "the wrong order",
    "",
    ["payments", "baseline-pii", "baseline-secrets"],
    1,
    /builds on `baseline-pii`.*add `baseline-pii` first/,
  ],
  [
    "a detector renamed",
    "guardrails: { detectors: [{ type: pii, name: cards, entities: [CREDIT_CARD] }] }\n",
    ["baseline-pii", "baseline-secrets", "payments"],
    1,
    /has another detector `cards` than `payments`, different in /,
  ],
  [
    "a document that does not compile",
    "access_rules: [{ name: a, condition: 'no(', action: deny }]\n",
    ["baseline-pii"],
    1,
    /access_rules\[0\]\.condition/,
  ],
  ["a duplicate key", "version: 1\nversion: 2\n", ["baseline-pii"], 1, /a second time/],
];

for (const [what, text, args, status, message] of REFUSED) {
  test(`a pack is refused with nothing written: ${what}`, async (t) => {
    const { dir, file } = await folder(t, text);
    const refused = await run(["add", "-write", ...args], dir);
    assert.deepEqual([refused.status, refused.out], [status, ""], refused.err);
    assert.match(refused.err, message);
    assert.equal(await readFile(file, "utf8"), text);
    assert.deepEqual(await readdir(dir), ["deployment.yaml"]);
  });
}

test("an unwritable or unreadable file is refused and named", async (t) => {
  const { dir, file } = await folder(t, "version: 1\n");
  await chmod(file, 0o444);
  const readOnly = await run(["add", "-write", "baseline-pii"], dir);
  assert.equal(readOnly.status, 2);
  assert.match(readOnly.err, /'deployment\.yaml' cannot be written: /);
  const nowhere = await run(["add", "-write", "-deployment", "none/d.yaml", "baseline-pii"], dir);
  assert.match(nowhere.err, /there is no directory /);
  await chmod(file, 0o644);
  await writeFile(file, Buffer.from([0xff, 0xfe, 0x41]));
  assert.match((await run(["add", "baseline-pii"], dir)).err, /'deployment\.yaml' is not valid UTF-8/);
});

test("an operator's own directory is shown, tested and added, on top of the built-in packs", async (t) => {
  const { dir } = await folder(t);
  await mkdir(join(dir, "mine"));
  const files = {
    "pack.yaml":
      "id: mine\nversion: 0.1.0\ntitle: Mine\nbuilds_on: [baseline-agents]\ncontrols: [{ id: 'acme-1:A', title: A, citation: Acme policy 1 A }]\n" +
      "attaches: [{ pack: baseline-agents, rule: deny-agent-files, controls: ['acme-1:A'] }]\n",
    "fragment.yaml":
      "access_rules:\n  - { name: no-mail, at: [mcp], condition: 'name == \"mail\"', action: deny, controls: ['acme-1:A'] }\n",
    "README.md": "# mine\u001b[31m\n",
    "tests.yaml":
      "suite: mine\ncases:\n  - { name: no mail, request: { server: s, method: tools/call, name: mail }, expect: deny, by: no-mail }\n",
  };
  for (const [name, text] of Object.entries(files)) await writeFile(join(dir, "mine", name), text);
  const shown = await run(["show", "./mine"], dir);
  assert.equal(shown.status, 0, shown.err);
  assert.ok(!shown.out.includes("\u001b"));
  assert.equal((await run(["test", "./mine"], dir)).status, 0);
  const added = await run(["add", "baseline-agents", "./mine"], dir);
  assert.equal(added.status, 0, added.err);
  assert.match(added.err, /^mine: access_rules "deny-agent-files" controls added: acme-1:A$/m);
  assert.match((await run(["show", "mine"], dir)).err, /the directory of this name is '\.\/mine'/);
  const failing = files["tests.yaml"].replace("expect: deny, by: no-mail", "expect: allow");
  await writeFile(join(dir, "mine", "tests.yaml"), failing);
  assert.equal((await run(["test", "./mine"], dir)).status, 1);
});

test("a copy of a built-in pack says which key to change", async (t) => {
  const { dir } = await folder(t);
  await cp(join(ROOT, "packs", "baseline-secrets"), join(dir, "mine"), { recursive: true });
  const { status, err } = await run(["show", "./mine"], dir);
  assert.equal(status, 2);
  assert.match(err, /'\.\/mine' has the name of the built-in pack `baseline-secrets`: change `id` in its pack\.yaml\n/);
});
