/** `gateway -config FILE -test-rules PATH` in the test's process: statuses, streams, and which suites it finds. */

import assert from "node:assert/strict";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { execute } from "../../../src/cli/main.ts";
import { type Document, type Files, writeFiles } from "../../e2e/support/config.ts";
import type { Owner } from "../../e2e/support/wait.ts";
import { bufferIo } from "../buffer-io.ts";

/** A literal credential would cause a warning. */
const KEY = "$" + "{KEY}";
const ENV = { KEY: "k" };

const DEPLOYMENT: Document = {
  auth: { virtual_keys: true },
  providers: [{ name: "one", dialect: "compat", base_url: "http://127.0.0.1:9/v1", models: ["m*"], api_key: KEY }],
  profiles: [{ name: "p", access_rules: [{ name: "no-m2", at: ["llm"], condition: 'model == "m2"', action: "deny" }] }],
  access_rules: [{ name: "no-m3", at: ["llm"], condition: 'model == "m3"', action: "deny", message: "Not m3." }],
};

const suite = (name: string, cases: string): string =>
  `suite: ${name}\ncallers:\n  k: { key: { name: k }, profile: p }\ncases:\n${cases}`;

const ONE = "  - { name: m1 is open, caller: k, request: { model: m1 }, expect: allow }\n";
const TWO = "  - { name: m2 is not, caller: k, request: { model: m2 }, expect: deny, by: no-m2 }\n";
const WRONG = "  - { name: m3 is open, caller: k, request: { model: m3 }, expect: allow }\n";

async function files(owner: Owner, suites: Readonly<Record<string, string>>, deployment = DEPLOYMENT): Promise<Files> {
  const made = await writeFiles(owner, deployment);
  await mkdir(join(made.dir, "rules"));
  for (const [name, text] of Object.entries(suites)) await writeFile(join(made.dir, "rules", name), text);
  return made;
}

async function run({ dir }: Files, path: string, ...more: readonly string[]) {
  const io = bufferIo({ cwd: dir, env: ENV });
  const status = await execute(["-config", "node.yaml", "-test-rules", path, ...more], io);
  return { status, out: io.out(), err: io.err() };
}

test("a passing suite exits with 0: one line per case, the summary and the untested rules", async (t) => {
  const made = await files(t, { "a.yaml": suite("team", ONE + TWO) });
  assert.deepEqual(await run(made, "rules/a.yaml"), {
    status: 0,
    out: [
      "ok    team: m1 is open: allowed by no rule; sent to one",
      "ok    team: m2 is not: denied by no-m2 (profile p): denied by rule no-m2",
      "2 cases: 2 pass, 0 fail",
      "rules without a case: no-m3 (deployment)",
      "",
    ].join("\n"),
    err: "",
  });
});

test("a failing case exits with 1, and its line has place, expectation and result", async (t) => {
  const made = await files(t, { "a.yaml": suite("team", ONE + WRONG) });
  const { status, out, err } = await run(made, "rules/a.yaml");
  assert.equal(status, 1);
  assert.equal(err, "");
  const lines = out.split("\n");
  const expectedText =
    "fail  team: m3 is open: rules/a.yaml:6:5: expected allow; denied by no-m3 (deployment): Not m3.";
  assert.equal(lines[1], expectedText);
  assert.equal(lines[2], "2 cases: 1 passes, 1 fails");
});

test("a folder means all of its YAML files in name order, and nothing else in it", async (t) => {
  const made = await files(t, {
    "b.yml": suite("second", TWO),
    "a.yaml": suite("first", ONE),
    ".hidden.yaml": "cases: 1",
    "notes.md": "cases: 1",
  });
  await mkdir(join(made.dir, "rules/deeper"));
  const { status, out } = await run(made, "rules");
  assert.equal(status, 0);
  assert.deepEqual(
    out.split("\n").map((line) => /^ok {4}(\w+):/.exec(line)?.[1]),
    ["first", "second", undefined, undefined, undefined],
  );
});

test("errors of all suites are printed together on stderr, and nothing is run", async (t) => {
  const made = await files(t, {
    "a.yaml": suite("team", ONE.replace("expect", "expects")),
    "b.yaml": suite("other", TWO.replace("no-m2", "no-m1")),
    "c.yaml": suite("other", ONE),
  });
  const { status, out, err } = await run(made, "rules");
  assert.equal(status, 1);
  assert.equal(out, "");
  const lines = err.split("\n");
  assert.match(lines[0] ?? "", /^rules\/a\.yaml:5:\d+: cases\[0\]\.expects: unknown key/);
  assert.match(lines[1] ?? "", /^rules\/b\.yaml:5:\d+: cases\[0\]\.by: no such rule applies to profile p/);
  assert.match(lines[2] ?? "", /^rules\/c\.yaml:1:8: suite: rules\/b\.yaml also contains a suite of this name$/);
  assert.equal(lines[3], "gateway: the suites were refused: 3 problems");
});

test("a configuration that does not load exits with 1 and every problem", async (t) => {
  const made = await files(t, { "a.yaml": suite("team", ONE) }, { ...DEPLOYMENT, hue: 1 });
  const { status, out, err } = await run(made, "rules");
  assert.equal(status, 1);
  assert.equal(out, "");
  assert.match(
    err,
    /deployment\.yaml:1:\d+: hue: unknown key "hue".*\ngateway: the configuration was refused: 1 problem\n$/,
  );
});

test("an unreadable path is a usage error", async (t) => {
  const made = await files(t, { "latin.yaml": "" });
  await writeFile(join(made.dir, "rules/latin.yaml"), Buffer.from([0x73, 0xff, 0xfe]));
  await mkdir(join(made.dir, "empty"));
  for (const [path, why] of [
    ["nowhere.yaml", "nowhere.yaml does not exist"],
    ["empty", "empty contains no file named *.yaml"],
    ["rules", "rules/latin.yaml is not valid UTF-8"],
  ] as const) {
    const { status, err } = await run(made, path);
    assert.equal(status, 2, path);
    assert.equal(err, `gateway: flag '-test-rules': ${why}\nRun 'gateway help' for usage.\n`);
  }
});

test("a node without a deployment document has nothing to test", async (t) => {
  const made = await files(t, { "a.yaml": suite("team", ONE) });
  await made.writeNode({ deployment: undefined });
  const { status, err } = await run(made, "rules");
  assert.equal(status, 2);
  assert.match(err, /^gateway: the node file names no `deployment`/);
});

test("warnings of the configuration are printed on stderr and do not fail the run", async (t) => {
  const idle = { name: "idle", at: ["llm"], condition: 'provider == "two"', action: "deny" };
  const made = await files(t, { "a.yaml": suite("team", ONE) }, { ...DEPLOYMENT, access_rules: [idle] });
  const { status, err } = await run(made, "rules");
  assert.equal(status, 0);
  assert.match(err, /access_rules\[0\]\.condition: warning: .*no provider `two`/);
});

test("names cannot move the cursor, and other flags are ignored", async (t) => {
  const made = await files(
    t,
    { "a.yaml": suite("team", TWO) },
    {
      ...DEPLOYMENT,
      profiles: [
        {
          name: "p",
          access_rules: [
            { name: "no-m2", at: ["llm"], condition: 'model == "m2"', action: "deny", message: "a\u001b[2Jb\nc" },
          ],
        },
      ],
    },
  );
  const { status, out } = await run(made, "rules", "-listen", "nowhere", "-alias", "x");
  assert.equal(status, 0);
  assert.ok(out.startsWith("ok    team: m2 is not: denied by no-m2 (profile p): a\\u001b[2Jb\\nc\n"), out);
});
