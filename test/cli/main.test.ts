import assert from "node:assert/strict";
import { test } from "node:test";
import { findVerb } from "../../src/cli/find-verb.ts";
import { execute } from "../../src/cli/main.ts";
import { Interrupted } from "../../src/cli/process-io.ts";
import { DAEMON, VERBS } from "../../src/cli/verb-table.ts";
import { bufferIo } from "./buffer-io.ts";

/** A refused command line, and the first line on stderr. */
const USAGE: readonly (readonly [args: readonly string[], message: string])[] = [
  [["chekc"], "gateway: unknown verb 'chekc' (did you mean 'check'?)"],
  [["key", "mint"], "gateway: unknown verb 'key' (did you mean 'keys'?)"],
  [["zzz"], "gateway: unknown verb 'zzz'"],
  [["console", "x"], "gateway console: takes no arguments"],
  [["audit", "verify", "-q"], "gateway audit verify: missing argument: FILE..."],
  [["cluster", "prun"], "gateway: 'cluster' is followed by one of step-down, prune, recover (did you mean 'prune'?)"],
  [["pack", "zzz"], "gateway: 'pack' is followed by one of list, show, add, test"],
  [["-test-rules", "x"], "gateway: flag '-test-rules' needs '-config', whose rules it tests"],
  [
    ["-config", "x", "-test-rules", ""],
    "gateway: flag '-test-rules' takes the path of a rule suite, or of a folder of them",
  ],
  [["-lisen", ":1"], "gateway: unknown flag '-lisen' (did you mean '-listen'?)"],
  [["login", "-url", "https://gw"], "gateway login: unknown flag '-url': give URL as an argument, without a flag"],
  [["config", "apply", "-f", "x"], "gateway config apply: unknown flag '-f': give FILE as an argument, without a flag"],
  [["explain", "--id=x"], "gateway explain: unknown flag '-id': give REQUEST-ID as an argument, without a flag"],
  [["lift", "-name", "x"], "gateway lift: unknown flag '-name': give KIND:NAME as an argument, without a flag"],
  [["-listen", ":1", "check"], "gateway: takes no arguments"],
  [["check"], "gateway check: flag '-config' is required"],
  [["check", "-config", "a", "b"], "gateway check: takes no arguments"],
  [["version", "x", "-offline"], "gateway version: takes no arguments; flags come before arguments"],
  [["completion"], "gateway completion: missing argument: bash|zsh|fish"],
  [["completion", "bash", "zsh"], "gateway completion: too many arguments, takes bash|zsh|fish"],
  [["completion", "tcsh"], "gateway completion: no completion for 'tcsh', only for bash, zsh, fish"],
  [["help", "chekc"], "gateway help: unknown verb 'chekc' (did you mean 'check'?)"],
  [["snapshot", "sav"], "gateway: 'snapshot' is followed by one of save, restore (did you mean 'save'?)"],
  [["keys", "list"], "gateway: there is no verb 'keys list': 'gateway get keys' lists them"],
  [
    ["cluster", "status"],
    "gateway: there is no verb 'cluster status': 'gateway status' shows nodes, leader and alerts",
  ],
  [["validate", "x"], "gateway: there is no verb 'validate': 'gateway check -config FILE' checks a configuration"],
  [["node.yaml"], "gateway: 'node.yaml' is not a verb; 'gateway -config FILE' runs a node file"],
  [["./conf/n1"], "gateway: './conf/n1' is not a verb; 'gateway -config FILE' runs a node file"],
  [
    ["snapshot", "save", "x.tar", "-socket", "admin.sock"],
    "gateway snapshot save: flags come before the arguments, also '-socket': gateway snapshot save [FLAGS] FILE",
  ],
  [
    ["audit", "verify", "n1.log", "-heads=heads.json"],
    "gateway audit verify: flags come before the arguments, also '-heads=heads.json': gateway audit verify [FLAGS] FILE...",
  ],
  [
    ["admin", "PUT", "keys", "-d", "{}"],
    "gateway admin: flags come before the arguments, also '-d': gateway admin [FLAGS] [METHOD] PATH",
  ],
  [["audit", "verify", "--", "-heads"], "gateway audit verify: -heads cannot be read: there is no such file"],
  [["help", "check", "dev"], "gateway help: unknown verb 'check dev'"],
];

for (const [args, message] of USAGE) {
  test(`'gateway ${args.join(" ")}' is a usage error`, async () => {
    const io = bufferIo();
    assert.equal(await execute(args, io), 2);
    assert.equal(io.err().split("\n")[0], message);
    assert.match(io.err(), /\nRun 'gateway help[a-z ]*' for usage\.\n$/);
    assert.equal(io.out(), "");
  });
}

test("help goes to stdout and exits with 0, however it is requested", async () => {
  const commands = [["help"], ["-h"], ["-help"], ["--help"]];
  const answers = await Promise.all(
    commands.map(async (args) => {
      const io = bufferIo();
      assert.equal(await execute(args, io), 0);
      assert.equal(io.err(), "");
      return io.out();
    }),
  );
  assert.match(answers[0] ?? "", /^Usage: gateway \[FLAGS\]$/m);
  assert.equal(new Set(answers).size, 1);
});

test("every verb prints the same help for -help and for the help verb", async () => {
  for (const { name } of VERBS) {
    const byFlag = bufferIo();
    const byVerb = bufferIo();
    assert.equal(await execute([...name.split(" "), "-help"], byFlag), 0);
    assert.equal(await execute(["help", ...name.split(" ")], byVerb), 0);
    assert.match(byFlag.out(), new RegExp(`^Usage: gateway ${name}`, "m"));
    assert.equal(byFlag.out(), byVerb.out());
  }
});

test("a verb's words are removed before its flags, and flags alone belong to the daemon", () => {
  assert.equal(findVerb(["check", "-offline"]).verb.name, "check");
  assert.deepEqual(findVerb(["check", "-offline"]).rest, ["-offline"]);
  assert.equal(findVerb([]).verb, DAEMON);
  assert.equal(findVerb(["-config", "check"]).verb, DAEMON);
});

test("an error of a verb becomes a status and a line, and a stack only when debugging", async () => {
  const broken = { write: () => assert.fail("the disk is on fire") };
  const silent = bufferIo();
  const loud = bufferIo({ env: { GATEWAY_LOG: "debug" } });
  for (const io of [silent, loud]) {
    io.stdout.write = broken.write;
    assert.equal(await execute(["version"], io), 1);
  }
  assert.equal(silent.err(), "gateway version: the disk is on fire\n");
  assert.match(loud.err(), /^gateway version: the disk is on fire\nAssertionError.*\n {4}at /);
});

test("an interrupted verb prints nothing and exits with 130; one with a closed output pipe with 141", async () => {
  for (const [by, status] of [
    ["SIGINT", 130],
    ["SIGTERM", 130],
    ["closed stdout", 141],
  ] as const) {
    const io = bufferIo({ signal: AbortSignal.abort(new Interrupted(by)) });
    io.stdout.write = () => assert.fail("cut short");
    assert.equal(await execute(["version"], io), status);
    assert.equal(io.err(), "");
  }
});
