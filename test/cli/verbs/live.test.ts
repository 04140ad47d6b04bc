// tier: all
/** The verbs as processes, with a running gateway: `gateway dev`, one for the file. */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { after, before, test } from "node:test";
import { runProgram } from "../../e2e/support/gateway.ts";
import { eventually, type Owner, within } from "../../e2e/support/wait.ts";

/** Starts and elections on a busy machine. */
const SLOW_MS = 30_000;

const owner: Owner = { after };
const node = runProgram(owner, { args: ["dev", "-listen", "127.0.0.1:0", "-metrics-listen", "127.0.0.1:0"] });
let socket = "";
let directory = "";

before(async () => {
  directory = await mkdtemp(join(tmpdir(), "gateway-live-"));
  await eventually("a gateway that is ready", () => /^ready/m.test(node.stdout()), SLOW_MS);
  socket = /^ {2}admin {6}(\S+)/m.exec(node.stdout())?.[1] ?? "";
});
after(() => rm(directory, { recursive: true, force: true }));

interface Ran {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

async function gateway(...args: readonly string[]): Promise<Ran> {
  const program = runProgram(owner, { args, env: { GATEWAY_ADMIN_SOCKET: socket } });
  const { status } = await within(`the end of gateway ${args.join(" ")}`, program.ended, SLOW_MS);
  return { status, stdout: program.stdout(), stderr: program.stderr() };
}

const keyNames = async (): Promise<readonly string[]> => {
  const { items } = JSON.parse((await gateway("admin", "keys")).stdout) as { items: readonly { name: string }[] };
  return items.map(({ name }) => name).sort();
};

test("admin creates, lists and deletes a key", async () => {
  const made = await gateway("admin", "-d", '{"name":"live"}', "POST", "keys");
  assert.deepEqual([made.status, made.stderr], [0, ""]);
  assert.equal((JSON.parse(made.stdout) as { name: string }).name, "live");
  assert.ok((await keyNames()).includes("live"));
  const again = await gateway("admin", "-d", '{"name":"live"}', "POST", "keys");
  assert.equal(again.status, 1);
  assert.match(again.stderr, /^gateway admin: 409 conflict: /);
  assert.match(again.stdout, /"code":"conflict"/);
  assert.deepEqual(await gateway("admin", "DELETE", "keys/live"), { status: 0, stdout: "", stderr: "" });
  assert.ok(!(await keyNames()).includes("live"));
});

test("a body above the API's limit is refused with its reason, however much was sent", async () => {
  const body = join(directory, "large.json");
  spawnSync("truncate", ["-s", "20M", body]);
  const { status, stderr } = await gateway("admin", "-d", `@${body}`, "POST", "keys");
  assert.equal(status, 1, stderr);
  assert.match(stderr, /^gateway admin: 413 body_too_large: /);
});

test("a snapshot restores the state when it was saved, and nothing later", async () => {
  const archive = join(directory, "a.tgz");
  await gateway("admin", "-d", '{"name":"before"}', "POST", "keys");
  const saved = await gateway("snapshot", "save", archive);
  assert.equal(saved.status, 0, saved.stderr);
  assert.match(saved.stderr, /^saved .*a\.tgz: index \d+, term \d+, [\d.]+ k?B\n$/);
  assert.equal((await stat(archive)).mode & 0o777, 0o600);
  await gateway("admin", "-d", '{"name":"since"}', "POST", "keys");
  const restored = await gateway("snapshot", "restore", archive);
  assert.equal(restored.status, 0, restored.stderr);
  assert.match(restored.stderr, /^restored .*a\.tgz: index \d+, term \d+, [\d.]+ k?B of state\n$/);
  const names = await keyNames();
  assert.deepEqual([names.includes("before"), names.includes("since")], [true, false]);
});

test("an invalid archive is refused by the gateway too, and changes nothing", async () => {
  const names = await keyNames();
  const fake = join(directory, "fake.tgz");
  spawnSync("sh", ["-c", `printf 'not a tar' | gzip > '${fake}'`]);
  const { status, stderr } = await gateway("snapshot", "restore", fake);
  assert.equal(status, 1);
  assert.match(stderr, /^gateway snapshot restore: 422 refused: /);
  assert.deepEqual(await keyNames(), names);
});

test("a query joins several lists", async () => {
  await gateway("admin", "-d", '{"name":"asked","metadata":{"team":"a"}}', "POST", "keys");
  const sql = "select name, metadata->>'team' as team from keys where name = ?";
  const table = await gateway("query", "-p", "asked", sql);
  assert.deepEqual(table, { status: 0, stdout: "name   team\nasked  a\n", stderr: "" });
  const { stdout } = await gateway("query", "-o", "json", "-p", "asked", sql);
  assert.deepEqual(JSON.parse(stdout), [{ name: "asked", team: "a" }]);
  const whole = await gateway("query", "-o", "rows", "-p", "asked", sql);
  const { columns, rows } = JSON.parse(whole.stdout) as { columns: unknown; rows: unknown };
  assert.deepEqual(rows, [["asked", "a"]]);
  assert.equal((columns as readonly unknown[]).length, 2);
  const csv = await gateway("query", "-o", "csv", "-p", "asked", sql);
  assert.equal(csv.stdout, "name,team\r\nasked,a\r\n");
  const tables = await gateway("query", "-tables");
  assert.match(tables.stdout, /^table +column +type +description\n/);
  assert.match(tables.stdout, /^keys +name +text +/m);
  const refused = await gateway("query", "select * from nowhere");
  assert.deepEqual([refused.status, refused.stdout], [1, ""]);
  assert.match(refused.stderr, /^gateway query: 4\d\d \w+: /);
});

test("in a terminal JSON is indented, an archive refused and a table fitted to its width", {
  skip: isMissing("script"),
}, async () => {
  const program = `'${process.execPath}' '${resolve("bin/gateway")}'`;
  const typed = (line: string) => spawnSync("script", ["-qec", line, "/dev/null"], { encoding: "utf8", input: "" });
  const shown = typed(`${program} admin -socket '${socket}' status`);
  assert.match(shown.stdout, /^\{\r\n {2}"node": "dev",\r\n/);
  const refused = typed(`${program} admin -socket '${socket}' snapshot`);
  assert.equal(refused.status, 2);
  assert.match(refused.stdout, /which is not for a terminal/);
  const cut = typed(`stty cols 40; ${program} query -socket '${socket}' -tables`).stdout.split("\r\n");
  assert.ok(cut.length > 10);
  assert.ok(cut.every((line) => line.length <= 40) && cut.some((line) => line.endsWith("…")), cut.join("\n"));
});

function isMissing(command: string): string | false {
  return spawnSync(command, ["--version"]).status === 0 ? false : `${command} is not installed`;
}
