// tier: all
/** `gateway dev`: its errors, its output, and that the printed commands work. */

import assert from "node:assert/strict";
import { execFile, spawnSync } from "node:child_process";
import { rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { dirname, join, resolve } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { createAdminClient } from "../../../src/admin-api/index.ts";
import { freeAddress } from "../../../src/cli/dev/addresses.ts";
import { type DevAddresses, welcome } from "../../../src/cli/dev/welcome-text.ts";
import { execute } from "../../../src/cli/main.ts";
import { openTerminal, ptySkip } from "../../console/support/terminal.ts";
import { runProgram } from "../../e2e/support/gateway.ts";
import { listenLocally } from "../../e2e/support/ports.ts";
import { atEnd, eventually, type Owner, within } from "../../e2e/support/wait.ts";
import { peer } from "../../peers/index.ts";
import { bufferIo } from "../buffer-io.ts";

const run = promisify(execFile);
const ROOT = resolve(dirname(fileURLToPath(import.meta.url)), "../../..");
/** Starts and elections on a busy machine. */
const SLOW_MS = 30_000;
const FREE = ["-listen", "127.0.0.1:0", "-metrics-listen", "127.0.0.1:0"];

const ADDRESSES: DevAddresses = {
  gateway: "http://127.0.0.1:50000",
  simulator: "http://127.0.0.1:50001",
  metrics: "http://127.0.0.1:50002/metrics",
  socket: "/tmp/gateway-dev-0ffN7P/admin.sock",
  directory: "/tmp/gateway-dev-0ffN7P",
  nodePath: "/tmp/gateway-dev-0ffN7P/node.yaml",
  suitePath: "/tmp/gateway-dev-0ffN7P/rules.yaml",
  key: `gwk_8charsId_${"x".repeat(49)}`,
  launcher: undefined,
  movedReasons: [],
};

test("the text fits a terminal of 80 columns, except what is to be copied", () => {
  const copied = /^(curl|const|gateway|import|await) /;
  const lines = welcome(ADDRESSES, false, true).split("\n");
  assert.deepEqual(
    lines.filter((line) => line.length > 80 && !copied.test(line)),
    [],
  );
});

test("without -more at most 40 lines are printed, with a pointer to -more", () => {
  const text = welcome(
    { ...ADDRESSES, launcher: "/opt/g/bin/gateway", movedReasons: ["127.0.0.1:8484: taken"] },
    false,
    false,
  );
  assert.ok(text.trim().split("\n").length <= 40, text);
  assert.match(text, /gateway dev -more/);
});

test("colors can be requested, and the text is the same without them", () => {
  const plain = welcome(ADDRESSES, false, true);
  const coloured = welcome(ADDRESSES, true, true);
  assert.ok(!plain.includes("\u001b"));
  assert.ok(coloured.includes("\u001b[1m"));
  assert.equal(coloured.replace(/\u001b\[\d+m/g, ""), plain);
});

test("if the shell does not find the program by name its path is printed, quoted if necessary", () => {
  assert.doesNotMatch(welcome(ADDRESSES, false, true), /^alias/m);
  assert.match(
    welcome({ ...ADDRESSES, launcher: "/opt/g/bin/gateway" }, false, true),
    /^alias gateway=\/opt\/g\/bin\/gateway$/m,
  );
  for (const path of ["/opt/a b/gateway", "/opt/it's here/gateway", '/opt/"$HOME"/gateway', "/opt/é*/gateway"]) {
    const [line = ""] = /^alias .*$/m.exec(welcome({ ...ADDRESSES, launcher: path }, false, true)) ?? [];
    // The shell parses the value of an alias again where it is used; `set --` shows the result.
    const script = `${line.replace("alias gateway=", "alias gateway='set -- '")}\ngateway query\nprintf '%s|' "$@"`;
    assert.equal(spawnSync("sh", ["-c", script], { encoding: "utf8" }).stdout, `${path}|query|`);
  }
  const spaced = welcome({ ...ADDRESSES, directory: "/tmp/it's here" }, false, true);
  assert.match(spaced, /^gateway audit verify '\/tmp\/it'\\''s here\/audit\.jsonl'$/m);
});

for (const [flag, value] of [
  ["listen", "foo"],
  ["listen", "none"],
  ["metrics-listen", "127.0.0.1:99999"],
] as const) {
  test(`-${flag} ${value} is a usage error, and nothing is started`, async () => {
    const io = bufferIo();
    assert.equal(await execute(["dev", `-${flag}`, value], io), 2);
    const message = `flag '-${flag}' takes an address such as 127.0.0.1:8484, not '${value}'`;
    assert.equal(io.err(), `gateway dev: ${message}\nRun 'gateway help dev' for usage.\n`);
  });
}

test("an address in use exits with status 12 and a suggestion", async (t) => {
  const server = createServer();
  const taken = `127.0.0.1:${await listenLocally(server)}`;
  atEnd(t, () => server.close());
  const program = runProgram(t, { args: ["dev", "-listen", taken, "-metrics-listen", "none"] });
  const { status } = await within("the end of dev", program.ended, SLOW_MS);
  assert.equal(status, 12);
  assert.equal(program.stdout(), "");
  assert.match(
    program.stderr(),
    /^gateway dev: cannot listen: another process uses the address \(.*\): .*\ntry: -listen /,
  );
});

test("a default address in use is named with the reason for another", async (t) => {
  const server = createServer();
  const taken = `127.0.0.1:${await listenLocally(server)}`;
  atEnd(t, () => server.close());
  const { address, movedReason: moved } = await freeAddress(taken, taken);
  assert.deepEqual([address, moved], ["127.0.0.1:0", `${taken}: another process uses the address`]);
  assert.deepEqual(await freeAddress(taken, "127.0.0.1:1"), { address: taken, movedReason: undefined });
  assert.match(
    welcome({ ...ADDRESSES, movedReasons: [moved ?? ""] }, false, true),
    /^ {2}files .*\n {2}not at {5}127\.0\.0\.1:\d+: another process uses the address$/m,
  );
});

const owner: Owner = { after };
const dev = runProgram(owner, { args: ["dev", "-more", ...FREE] });

/** Returns the lines under a heading, up to the next. */
async function printed(heading: string): Promise<string> {
  await eventually("a gateway that is ready", () => /^ready/m.test(dev.stdout()), SLOW_MS);
  const section = new RegExp(`^${heading}(?:  [^\\n]*)?\\n\\n(.*?)\\n\\n\\S`, "ms").exec(dev.stdout())?.[1];
  return section ?? assert.fail(`nothing under ${heading}:\n${dev.stdout()}`);
}

test("output goes to stdout, without colors if it is not a terminal, and the log is empty", async () => {
  await printed("curl");
  assert.ok(!dev.stdout().includes("\u001b"));
  assert.equal(dev.stderr(), "");
});

test("the printed verbs work", { skip: isMissing("bash") }, async () => {
  const script = `shopt -s expand_aliases\nset -e\n${await printed("Verbs")}\n${await printed("More verbs")}\n`;
  const { stdout } = await run("bash", ["--norc", "-c", script], { env: { PATH: process.env["PATH"] } });
  assert.match(stdout, /^name +state +rate/m);
  assert.match(stdout, /^trying +\d+ +\d+ +20/m);
  assert.match(stdout, /^gwk_[\w-]+$/m);
  assert.match(stdout, /^dev +developer +active *$/m);
  assert.match(stdout, /^me +developer +active *$/m);
  assert.match(stdout, /^decision {2}allow, rewritten {2}by cards-and-mails=redact$/m);
  assert.match(stdout, /^pii\/CREDIT_CARD +0\.30 +30\.\.49 .*its check digit or another check disproves it$/m);
  assert.match(stdout, /^keys-stay-here +deny /m);
  assert.match(stdout, /^8 cases: 8 pass, 0 fail\nall 4 rules have a case$/m);
  assert.match(stdout, /^1 chain, \d+ records: verified$/m);
});

test("the printed console command works", { skip: ptySkip || isMissing("bash") }, async (t) => {
  const settings = (await printed("Verbs")).split("\n").filter((line) => /^(alias|export) /.test(line));
  const script = ["shopt -s expand_aliases", ...settings, await printed("Console")].join("\n");
  const terminal = openTerminal(t, { command: "bash", args: ["--norc", "-c", script] });
  await terminal.until(/LEADER[\s\S]*Overview/);
  await terminal.press("q");
  assert.deepEqual(await within("the end of the console", terminal.ended, SLOW_MS), { status: 0, signal: null });
});

test("the printed curl commands work", { skip: isMissing("curl") }, async () => {
  const { stdout } = await run("sh", ["-c", await printed("curl")]);
  assert.equal((JSON.parse(stdout) as { object: string }).object, "chat.completion");
});

test("the printed curl shows what guardrails rewrite: the answer echoes what the provider received", {
  skip: isMissing("curl"),
}, async () => {
  const { stdout } = await run("sh", ["-c", await printed("Guardrails")]);
  const { choices } = JSON.parse(stdout) as { choices: readonly { message: { content: string } }[] };
  const content = choices[0]?.message.content ?? "";
  assert.match(content, /Bill <CREDIT_CARD>, mail <EMAIL_ADDRESS>/);
  assert.ok(!stdout.includes("4111"), stdout);
});

/** Returns the answer to a chat with the model. */
async function ask(model: string, key: string | undefined) {
  const { gateway } = await welcomeNames();
  const response = await fetch(`${gateway}/v1/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json", ...(key !== undefined && { authorization: `Bearer ${key}` }) },
    body: JSON.stringify({ model, messages: [{ role: "user", content: "Hello" }] }),
  });
  const body = (await response.json()) as { readonly error?: { readonly code: string; readonly message: string } };
  return { status: response.status, error: body.error };
}

/** Returns the names in the head of the welcome text. */
async function welcomeNames(): Promise<Readonly<Record<"gateway" | "key" | "admin" | "files", string>>> {
  await printed("curl");
  const find = (name: string): string => new RegExp(`^ {2}${name} +(\\S+)`, "m").exec(dev.stdout())?.[1] ?? "";
  return { gateway: find("gateway"), key: find("key"), admin: find("admin"), files: find("files") };
}

test("its key is required, and the demonstration rule denies with its message", async () => {
  const { key } = await welcomeNames();
  assert.equal((await ask("sim-chat", undefined)).status, 401);
  assert.equal((await ask("fast", key)).status, 200);
  const denied = await ask("sim-large", key);
  assert.equal(denied.status, 403);
  assert.equal(denied.error?.code, "policy_denied");
  assert.match(denied.error?.message ?? "", /^sim-large is for keys that were approved\./);
});

test("a suspension of its provider takes effect, and so does lifting it", async () => {
  const { key, admin } = await welcomeNames();
  const client = createAdminClient({ address: { kind: "socket", path: admin } });
  const params = { kind: "provider", name: "simulator" } as const;
  try {
    await client.call("put_suspension", { params, body: { reason: "trying" } });
    assert.deepEqual((await ask("sim-chat", key)).error?.code, "suspended");
    await client.call("delete_suspension", { params });
    assert.equal((await ask("sim-chat", key)).status, 200);
    // A list of measurements changes at most once a second.
    const bucket = await eventually("what was asked is counted", async () => {
      const { items } = await client.call("list_budgets");
      return items.find(({ budget, used }) => budget === "trying" && used > 0);
    });
    assert.equal(bucket.bucket, "shared");
  } finally {
    client.close();
  }
});

test("the printed commands for the MCP server work: one tool is not listed, and its call is denied", {
  skip: isMissing("curl"),
}, async () => {
  const { stdout } = await run("sh", ["-c", (await printed("MCP server")).replaceAll("\n", "; echo\n")]);
  const [listed = "", found = "", denied = ""] = stdout.trim().split("\n");
  assert.match(listed, /"name":"search"/);
  assert.ok(!listed.includes("delete_file"), listed);
  assert.match(found, /2 documents on \\"gateways\\" were found/);
  assert.match(denied, /"message":"Deleting files is not allowed\."/);
});

test("the printed commands for the agent work: its card names the gateway alone, and a task is streamed", {
  skip: isMissing("curl"),
}, async () => {
  const { gateway } = await welcomeNames();
  const { stdout } = await run("sh", ["-c", (await printed("Agent")).replace("\n", "; echo\n")]);
  const [card = "", ...events] = stdout.trim().split("\n");
  const { supportedInterfaces } = JSON.parse(card) as { readonly supportedInterfaces: readonly { url: string }[] };
  assert.deepEqual(
    supportedInterfaces.map(({ url }) => url),
    [`${gateway}/a2a/agent`],
  );
  assert.match(events.join("\n"), /TASK_STATE_SUBMITTED[\s\S]*Part 3 of 3[\s\S]*TASK_STATE_COMPLETED/);
});

const PEERS = [
  ["MCP SDK", await peer("mcp-sdk"), /^2 documents on "gateways" were found\.\n$/],
  ["A2A SDK", await peer("a2a-sdk"), /You said: \\"Hello\\"/],
] as const;
for (const [sdk, { missing, path }, answer] of PEERS) {
  test(`the printed snippet of the ${sdk} works`, { skip: missing }, async () => {
    // A module beside the packages finds them.
    const file = join(path.slice(0, path.lastIndexOf("node_modules")), `dev-${process.pid}.mjs`);
    await writeFile(file, await printed(sdk));
    try {
      assert.match((await run(process.execPath, [file])).stdout, answer);
    } finally {
      await rm(file);
    }
  });
}

for (const sdk of ["OpenAI SDK", "Anthropic SDK"]) {
  test(`the printed snippet of the ${sdk} works`, async () => {
    const code = await printed(sdk);
    const { stdout } = await run(process.execPath, ["--input-type=module", "-e", code], { cwd: ROOT });
    assert.match(stdout, /\S/);
  });
}

test("FORCE_COLOR forces colors, and NO_COLOR takes precedence", async (t) => {
  const [forced, none] = [{ FORCE_COLOR: "1" }, { FORCE_COLOR: "1", NO_COLOR: "1" }].map((env) =>
    runProgram(t, { args: ["dev", ...FREE], env }),
  );
  assert.ok(forced && none);
  for (const program of [forced, none]) {
    await eventually("a gateway that is ready", () => /ready.*Ctrl-C/.test(program.stdout()), SLOW_MS);
  }
  assert.ok(forced.stdout().includes("\u001b[1mgateway dev\u001b[22m"));
  assert.ok(!none.stdout().includes("\u001b"));
});

function isMissing(program: string): string | false {
  return spawnSync(program, ["--version"]).status === 0 ? false : `${program} is not installed`;
}
