/** The console's settings on this machine: their location, their required ownership; and programs that it runs. */
import assert from "node:assert/strict";
import { chmod, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { runCommand } from "../../src/cli/console-command.ts";
import { execute } from "../../src/cli/main.ts";
import { atEnd, type Owner } from "../e2e/support/wait.ts";
import { bufferIo } from "./buffer-io.ts";

async function withSettings(owner: Owner, text?: string): Promise<{ path: string; env: Record<string, string> }> {
  const folder = await mkdtemp(join(tmpdir(), "settings-"));
  atEnd(owner, () => rm(folder, { recursive: true }));
  const path = join(folder, "gateway", "console.yaml");
  await mkdir(join(folder, "gateway"));
  if (text !== undefined) await writeFile(path, text, { mode: 0o600 });
  return { path, env: { XDG_CONFIG_HOME: folder } };
}

async function checked(env: Record<string, string>): Promise<readonly [status: number, out: string]> {
  const io = bufferIo({ env });
  return [await execute(["console", "-check-settings"], io), io.out()];
}

test("valid or missing settings exit with 0; others print a line per error with place and remedy, and exit with 1", async (t) => {
  const { path, env } = await withSettings(t, "keys:\n  suspend: F\nmouse: false\n");
  assert.deepEqual(await checked(env), [0, `${path}: good: 0 themes, 1 keys, 0 commands, 0 contexts\n`]);
  await writeFile(path, "keys:\n  suspend: u\nmouse: 3\n");
  const [status, out] = await checked(env);
  assert.equal(status, 1);
  assert.match(
    out,
    /console\.yaml:2:12: u is already the key of another action; assign another key to that action, or to suspend\n/,
  );
  assert.match(out, /console\.yaml:3:8: mouse is neither true nor false; write true or false\n/);
  const none = await withSettings(t);
  assert.deepEqual((await checked(none.env))[0], 0);
});

test("a settings file that others may write to is refused, since it names programs to run", async (t) => {
  const { path, env } = await withSettings(t, "mouse: false\n");
  await chmod(path, 0o666);
  const [status, out] = await checked(env);
  assert.deepEqual([status, /others may write to it.*chmod go-w/.test(out)], [1, true], out);
});

test("an unknown theme is refused before the terminal is touched", async (t) => {
  const { env } = await withSettings(t);
  const io = bufferIo({ env, isTerminal: () => true });
  assert.equal(await execute(["console", "-socket", "/x", "-theme", "dusk"], io), 2);
  assert.match(io.err(), /no theme and no file dusk; the themes are auto, dark, light, mono/);
});

const never = new AbortController().signal;
const address = { kind: "socket", path: "/run/gateway.sock" } as const;
const io = bufferIo({ env: { PATH: process.env["PATH"] ?? "", GATEWAY_ADMIN_URL: "https://elsewhere" } });
const ran = (argv: readonly string[], signal = never, timeLimitMs?: number) =>
  runCommand(argv, { io, address, signal, ...(timeLimitMs !== undefined && { timeLimitMs }) });
const textOf = (lines: readonly (readonly { readonly text: string }[])[]): string =>
  lines.map((line) => line.map(({ text }) => text).join("")).join("\n");

test("a program gets its exact arguments, no input, and the current address", async () => {
  const { message: found, lines } = await ran([
    "/bin/sh",
    "-c",
    'cat; printf "%s|" "$@"; echo; env | grep GATEWAY_',
    "sh",
    "a b",
    "$(id)",
  ]);
  assert.deepEqual([found, textOf(lines)], ["status 0", "a b|$(id)|\nGATEWAY_ADMIN_SOCKET=/run/gateway.sock"]);
});

test("a program's output contains no terminal escapes, and its exit status is reported", async () => {
  const { message: found, lines } = await ran(["/bin/sh", "-c", "printf '\\033[2Jx'; exit 7"]);
  assert.deepEqual([found, textOf(lines)], ["status 7", "\\u001b[2Jx"]);
  await assert.rejects(ran(["/nowhere/at-all"]), /there is no such program/);
});

test("a program that does not end is killed with its children, and so is one with too much output", async () => {
  assert.equal((await ran(["/bin/sh", "-c", "sleep 100 & sleep 100"], never, 100)).message, "ended after 0.1 s");
  const { message: found, lines } = await ran(["/bin/sh", "-c", "yes"]);
  assert.equal(found, "ended: its output exceeded 1 MiB");
  assert.ok(textOf(lines).length <= 1 << 20);
  const stop = new AbortController();
  const under = ran(["/bin/sh", "-c", "sleep 100 & wait"], stop.signal);
  stop.abort(new Error("left"));
  await assert.rejects(under, /left/);
});
