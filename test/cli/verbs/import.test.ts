/** `gateway import`: hostile and broken files, its flags, and its output files. */

import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { test } from "node:test";
import { execute } from "../../../src/cli/main.ts";
import type { Owner } from "../../e2e/support/wait.ts";
import { bufferIo } from "../buffer-io.ts";

const SMALL = "model_list: [{ model_name: a, litellm_params: { model: openai/a, api_key: os.environ/A } }]\n";

async function run(
  owner: Owner,
  text: string | Buffer | undefined,
  args: readonly string[] = ["litellm", "source.yaml"],
) {
  const cwd = await mkdtemp(join(tmpdir(), "gateway-import-"));
  owner.after(() => rm(cwd, { recursive: true, force: true }));
  if (text !== undefined) await writeFile(join(cwd, "source.yaml"), text);
  const io = bufferIo({ cwd, stdin: Readable.from([Buffer.from(SMALL)]) });
  const status = await execute(["import", ...args], io);
  return { status, out: io.out(), err: io.err(), cwd };
}

/** A hundred bytes that would expand to gigabytes: each anchor has nine of the previous one. */
const BOMB = Array.from(
  { length: 9 },
  (_, n) =>
    `a${n}: &a${n} [${Array(9)
      .fill(n === 0 ? "x" : `*a${n - 1}`)
      .join(", ")}]`,
).join("\n");

const REFUSED: readonly (readonly [what: string, text: string, words: RegExp])[] = [
  ["aliases that expand exponentially", BOMB, /source\.yaml:1:1: the document contains more than 100000 values/],
  ["an undefined alias", "model_list: *models\n", /source\.yaml:1:13: .*names no anchor before it/],
  ["a `*` that is not text", "model_list:\n  - model_name: *\n", /source\.yaml:2:17: .*must be quoted/],
  ["wrong indentation", "model_list:\n  - model_name: a\n   b: c\n", /source\.yaml:3:1: .*wrong indentation/],
  [
    "a comment in JSON",
    '{\n  // sk-SECRET\n  "model_list": []\n}\n',
    /source\.yaml:2: JSON has no comments: remove this one\n/,
  ],
  ["a duplicate key", "model_list: []\nmodel_list: []\n", /source\.yaml:2:1: .*a second time/],
  ["tabs as indentation", "model_list:\n\t- a\n", /source\.yaml:2:\d+: .*tab/],
  ["no YAML at all", "model_list: [", /source\.yaml:1:\d+: .*closing/],
  ["a list", "- a\n", /source\.yaml:1:1: expected an object/],
  ["nothing", "", /source\.yaml:1:1: the file is empty/],
  ["endless nesting", "[".repeat(5_000), /nested deeper than 64 levels/],
  [
    "no models",
    "model_list: 7\n",
    /source\.yaml:1: model_list: left out: expected a list\n.*no provider could be imported/s,
  ],
];

test("bytes that are not UTF-8 are refused with a conversion command", async (t) => {
  const utf16 = await run(t, Buffer.from(`\ufeff${SMALL}`, "utf16le"));
  assert.equal(utf16.status, 2);
  assert.match(utf16.err, /is UTF-16 or not a text; convert it first: iconv -f UTF-16 -t UTF-8\n/);
  const latin1 = await run(t, Buffer.from(`# one\n# caf\u00e9\n${SMALL}`, "latin1"));
  assert.equal(latin1.status, 2);
  assert.match(latin1.err, /is not valid UTF-8 in line 2; convert it first/);
});

test("comment-like text inside a JSON string is kept", async (t) => {
  const text =
    '{ "model_list": [{ "model_name": "a // b", "litellm_params": { "model": "openai/a" } }], "x": "\\" // " }\n';
  const { status, out } = await run(t, text);
  assert.equal(status, 0);
  assert.match(out, /"a \/\/ b": a/);
});

for (const [what, text, message] of REFUSED) {
  test(`${what}: reported with its line, nothing written, status 1`, async (t) => {
    const { status, out, err } = await run(t, text);
    assert.deepEqual([status, out], [1, ""], err);
    assert.match(err, message);
    assert.match(err, /gateway: (nothing|no document) was written/);
  });
}

test("binary bytes, an oversized file and a missing one are usage errors that name the file", async (t) => {
  const binary = await run(t, Buffer.from([0xff, 0x61]));
  assert.deepEqual([binary.status, binary.out], [2, ""]);
  assert.match(binary.err, /'source\.yaml' is not valid UTF-8 in line 1/);
  const long = await run(t, `# ${"x".repeat(4 << 20)}\n`);
  assert.equal(long.status, 2);
  assert.match(long.err, /'source\.yaml' is over 4194304 bytes/);
  assert.equal((await run(t, undefined)).status, 2);
  assert.match((await run(t, SMALL, ["litelm", "source.yaml"])).err, /'litelm' is none of litellm, portkey, bifrost/);
  assert.match(
    (await run(t, SMALL, ["-preset", "x=opnai", "litellm", "source.yaml"])).err,
    /there is no preset 'opnai'/,
  );
});

test("a byte order mark and CRLF are accepted, '-' is stdin, and -preset maps a name", async (t) => {
  const marked = await run(t, `\ufeff${SMALL.replaceAll("\n", "\r\n")}`);
  assert.equal(marked.status, 0, marked.err);
  assert.match(marked.out, /preset: openai/);
  assert.match(marked.err, /gateway: 1 provider, 1 note; set A; then/);
  assert.equal((await run(t, undefined, ["litellm", "-"])).out, marked.out);
  const named = await run(t, SMALL.replace("openai/a", "ours/a"), ["-preset", "ours=groq", "litellm", "source.yaml"]);
  assert.match(named.out, /preset: groq/);
});

test("-o writes a new file and never an existing one", async (t) => {
  const { status, out, cwd } = await run(t, SMALL, ["-o", "new.yaml", "litellm", "source.yaml"]);
  assert.deepEqual([status, out], [0, ""]);
  assert.match(await readFile(join(cwd, "new.yaml"), "utf8"), /^# Deployment document.*\nproviders:\n/s);
  const again = await run(t, SMALL, ["-o", "source.yaml", "litellm", "source.yaml"]);
  assert.equal(again.status, 2);
  assert.match(again.err, /'source\.yaml' exists already/);
  assert.equal(await readFile(join(again.cwd, "source.yaml"), "utf8"), SMALL);
});

test("-report lists the result for each setting, even if no provider could be imported", async (t) => {
  const made = await run(t, SMALL, ["-o", "new.yaml", "-report", "new.md", "litellm", "source.yaml"]);
  assert.equal(made.status, 0, made.err);
  const report = await readFile(join(made.cwd, "new.md"), "utf8");
  assert.match(report, /^The LiteLLM configuration `source\.yaml` was imported into `new\.yaml`\.$/m);
  const none = await run(t, "model_list: []\n", ["-report", "none.md", "litellm", "source.yaml"]);
  assert.equal(none.status, 1);
  assert.match(await readFile(join(none.cwd, "none.md"), "utf8"), /no provider was carried over/);
  for (const args of [
    ["-report", "source.yaml"],
    ["-o", "same", "-report", "same"],
  ]) {
    const { status, err } = await run(t, SMALL, [...args, "litellm", "source.yaml"]);
    assert.equal(status, 2);
    assert.match(err, /exists already|name the same file/);
  }
});

const FILES: Readonly<Record<string, string>> = {
  litellm: SMALL,
  portkey:
    '{"strategy":{"mode":"fallback"},"targets":[{"provider":"openai","api_key":"k"},{"provider":"groq","api_key":"k"}]}',
  bifrost: '{"providers":{"openai":{"keys":[{"name":"a","value":"env.A","models":["a"],"weight":1}]}},"client":{}}',
  deployment: "version: 1\nproviders: [{ preset: openai, name: one, models: ['*'] }]\n",
  node: "listen: 127.0.0.1:8080\ndeployment: deployment.yaml\ncluster: { data_dir: data }\n",
};

/** Expected refusal of each file. */
const LOOKS_LIKE: Readonly<Record<string, string>> = {
  litellm: "a LiteLLM configuration",
  portkey: "a Portkey configuration",
  bifrost: "a Bifrost configuration",
  deployment: "a deployment document of this gateway",
  node: "a node file of this gateway",
};

for (const system of ["litellm", "portkey", "bifrost"]) {
  test(`a file of another format is recognized by import ${system}, in one line`, async (t) => {
    for (const [format, text] of Object.entries(FILES)) {
      const { status, out, err } = await run(t, text, [system, "source.yaml"]);
      if (format === system) {
        assert.equal(status, 0, err);
        continue;
      }
      assert.deepEqual([format, status, out], [format, 1, ""]);
      const [line = "", ...rest] = err.split("\n");
      assert.ok(line.startsWith(`source.yaml:1:1: this looks like ${LOOKS_LIKE[format]}, not a `), line);
      if (format in { litellm: 1, portkey: 1, bifrost: 1 })
        assert.ok(line.endsWith(`: gateway import ${format} FILE`), line);
      assert.deepEqual(rest, ["gateway: nothing was written", ""]);
    }
  });
}

test("a file without any known section keeps its notes", async (t) => {
  const { status, err } = await run(t, "proxy_config: { model_list: [] }\n");
  assert.equal(status, 1);
  assert.match(err, /^source\.yaml:1: proxy_config: left out: no counterpart\n/);
});
