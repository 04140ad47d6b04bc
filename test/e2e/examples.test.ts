// tier: test
/**
 * Content of the documents: each `gateway …` command line is accepted by its verb's flag parser, each admin API call is
 * an operation, each query runs, and each configuration compiles. Commands of examples/admin that need a sign-in run in
 * test/e2e/admin, those of examples/governance in test/e2e/examples-governance.test.ts.
 */

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { BASE_PATH, OPERATIONS } from "../../src/admin-api/index.ts";
import { findVerb, isGroupWord } from "../../src/cli/find-verb.ts";
import { execute } from "../../src/cli/main.ts";
import { parseFlags } from "../../src/cli/parse-flags.ts";
import { VERBS } from "../../src/cli/verb-table.ts";
import { bufferIo } from "../cli/buffer-io.ts";
import { startWithFiles } from "./support/config.ts";
import { atEnd, type Owner } from "./support/wait.ts";

const ROOT = resolve(dirname(fileURLToPath(import.meta.url)), "../..");
const SECRET = "a-secret-that-is-long-enough-for-tests";
const SUITE = "rules-suite.yaml";
const EXAMPLES = (await readdir(join(ROOT, "examples"))).sort();
const PAGES = (await readdir(join(ROOT, "docs"), { recursive: true }))
  // Pages of `reference/` are generated from the tables that this test reads, and show command syntax.
  .filter((name) => name.endsWith(".md") && !name.includes("node_modules") && !name.startsWith("reference/"))
  .sort()
  .map((name) => `docs/${name}`);
const DOCUMENTS = ["README.md", "CONTRIBUTING.md", ...PAGES, ...EXAMPLES.map((name) => `examples/${name}/README.md`)];
const owner: Owner = { after };

interface Line {
  readonly document: string;
  /** The words after `gateway`, split as by a shell. */
  readonly args: readonly string[];
}

const texts = new Map(
  await Promise.all(DOCUMENTS.map(async (name) => [name, await readFile(join(ROOT, name), "utf8")] as const)),
);

/** Lines from shell blocks, and from code in sentences and tables. */
const lines: readonly Line[] = [...texts].flatMap(([document, text]) =>
  [...shellLines(text), ...codeOf(text)].flatMap((line) => commandsOf(line).map((args): Line => ({ document, args }))),
);

function shellLines(text: string): readonly string[] {
  const blocks = [...text.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, block = ""]) => block);
  return blocks.flatMap((block) => block.replaceAll("\\\n", " ").split("\n"));
}

function codeOf(text: string): readonly string[] {
  const prose = text.replace(/^```.*?^```$/gms, "");
  const codes = [...prose.matchAll(/`(gateway [^`]+)`/g)].map(([, code = ""]) => code.replaceAll("\\|", "|"));
  return codes.filter((code) => !isName(code.slice("gateway ".length)));
}

/** A sentence may name a verb, or a group of verbs, without arguments. */
function isName(text: string): boolean {
  return isGroupWord(text) || VERBS.some(({ name }) => name === text);
}

/** Returns the gateway commands of a line; quotes are resolved as in a shell, and nothing else. */
function commandsOf(line: string): readonly (readonly string[])[] {
  const commands: string[][] = [[]];
  for (const [token, single, double, bare] of line.matchAll(/'([^']*)'|"([^"]*)"|\d*[|>;&]+|([^\s'"|>;&#]+)|#.*$/g)) {
    if (token.startsWith("#")) break;
    const word = single ?? double ?? bare;
    if (word === undefined) commands.push([]);
    else commands.at(-1)?.push(word);
  }
  return commands.flatMap((command) => {
    const program = command.findIndex((word) => !/^[A-Z_]+=/.test(word));
    return command[program] === "gateway" ? [command.slice(program + 1)] : [];
  });
}

function parsed({ args }: Line) {
  const { verb, rest } = findVerb(args);
  const isInterleaved = "isInterleaved" in verb;
  const outcome = parseFlags(verb.flags, rest, { isInterleaved });
  assert.equal(outcome.kind, "options");
  const positionals = outcome.kind === "options" ? outcome.positionals : [];
  return { verb, positionals, options: outcome.kind === "options" ? outcome.options : {} };
}

test("the documents contain command lines", () => {
  for (const document of ["README.md", ...EXAMPLES.map((name) => `examples/${name}/README.md`)]) {
    assert.ok(lines.filter((line) => line.document === document).length >= 5, document);
  }
});

for (const line of lines) {
  test(`${line.document}: gateway ${line.args.join(" ")}`, () => {
    const { verb, positionals } = parsed(line);
    const { min, max } = verb.positionals;
    assert.ok(positionals.length >= min, `takes ${verb.positionals.usage}`);
    assert.ok(positionals.length <= max, `takes ${verb.positionals.usage || "no arguments"}`);
    if (verb.name === "admin") assertOperation(positionals);
  });
}

function assertOperation(positionals: readonly string[]): void {
  const path = `/${positionals.at(-1)?.replace(/\?.*$/, "").replace(/^\//, "")}`.replace(BASE_PATH, "");
  const method = positionals.length === 1 ? "GET" : positionals[0];
  const found = Object.values(OPERATIONS).some(
    (it) => it.method === method && new RegExp(`^${it.path.replace(/\{\w+\}/g, "[^/]+")}$`).test(path),
  );
  assert.ok(found, `no operation ${method} ${path}`);
}

test("each query runs on a node", async () => {
  const queries = lines.filter((line) => parsed(line).verb.name === "query" && line.args.length > 1);
  assert.ok(queries.length >= 3);
  const admin = { admin: { local_socket: "admin.sock" } };
  const { files } = await startWithFiles(owner, {}, admin);
  for (const { document, args } of queries) {
    const io = bufferIo({ env: { GATEWAY_ADMIN_SOCKET: join(files.dir, "admin.sock") } });
    assert.equal(await execute(args, io), 0, `${document}: ${args.join(" ")}: ${io.err()}`);
  }
});

/** Copies the example with its paths redirected into the copy; nothing of the machine is read. */
async function copied(name: string, document: string): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), "gateway-examples-"));
  atEnd(owner, () => rm(dir, { recursive: true, force: true }));
  await mkdir(join(dir, "secrets"));
  for (const secret of ["OPENAI_API_KEY", "ANTHROPIC_API_KEY", "AZURE_OPENAI_API_KEY"]) {
    await writeFile(join(dir, "secrets", secret), "k");
  }
  const text = document.replaceAll("/etc/gateway/secrets", join(dir, "secrets"));
  await writeFile(join(dir, name), text);
  return dir;
}

async function assertCompiles(dir: string, name: string): Promise<void> {
  const io = bufferIo({ env: { GATEWAY_CLUSTER_SECRET: SECRET } });
  const status = await execute(["check", "-offline", "-config", join(dir, name)], io);
  assert.equal(status, 0, io.out());
  assert.doesNotMatch(io.out(), /warning: |^note {2}secret /m);
}

test("the documents of README.md compile together", async () => {
  const printed = new Map(
    [...(texts.get("README.md") ?? "").matchAll(/^```yaml\n# ([\w.-]+): .*?^```$/gms)].map(([block, name = ""]) => [
      name,
      block.replace(/^```.*$/gm, ""),
    ]),
  );
  assert.deepEqual([...printed.keys()], ["node.yaml", "deployment.yaml"]);
  const governed = /^```yaml\n(auth:.*?)^```$/ms.exec(texts.get("README.md") ?? "")?.[1] ?? "";
  assert.match(governed, /^access_rules:$/m);
  const issuers = "issuers: [{ name: corp, url: https://login.example.com }]";
  const dir = await copied("node.yaml", `${printed.get("node.yaml")}\n${issuers}\n`);
  await writeFile(join(dir, "deployment.yaml"), `${printed.get("deployment.yaml")}\n${governed}`);
  await assertCompiles(dir, "node.yaml");
});

/** Compiled by its own start script in test/e2e/examples-production.test.ts. */
const STARTED = "production";

for (const example of EXAMPLES.filter((name) => name !== STARTED)) {
  const folder = join(ROOT, "examples", example);
  const nodes = (await readdir(folder)).filter((name) => /^node.*\.yaml$/.test(name));
  for (const name of nodes) {
    test(`examples/${example}/${name} compiles`, async () => {
      const dir = await copied(name, await readFile(join(folder, name), "utf8"));
      for (const other of ["deployment.yaml", "admin.cedar"]) {
        if (existsSync(join(folder, other))) await cp(join(folder, other), join(dir, other));
      }
      await assertCompiles(dir, name);
      if (existsSync(join(folder, SUITE))) await assertPasses(dir, name, join(folder, SUITE));
    });
  }
}

/** Asserts also that the suite covers every rule. */
async function assertPasses(dir: string, name: string, suite: string): Promise<void> {
  const io = bufferIo({ env: { GATEWAY_CLUSTER_SECRET: SECRET } });
  const status = await execute(["-config", join(dir, name), "-test-rules", suite], io);
  assert.equal(status, 0, `${io.out()}${io.err()}`);
  assert.match(io.out(), /^all \d+ rules have a case$/m);
}

/** Links within the repository; a moved document breaks them. */
for (const [document, text] of texts) {
  test(`${document} links only to existing targets`, () => {
    const targets = [...text.matchAll(/\]\(([^)#]+)[^)]*\)/g)].map(([, target = ""]) => target);
    const missing = targets.filter(
      (target) => !/^https?:/.test(target) && !existsSync(join(ROOT, dirname(document), target)),
    );
    assert.deepEqual(missing, []);
  });
}
