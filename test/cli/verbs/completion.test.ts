/** Completion by real shells; shells that are not installed are skipped. */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { execute } from "../../../src/cli/main.ts";
import { SHELLS, VERBS } from "../../../src/cli/verb-table.ts";
import { bufferIo } from "../buffer-io.ts";

async function script(shell: string): Promise<string> {
  const io = bufferIo();
  assert.equal(await execute(["completion", shell], io), 0);
  return io.out();
}

function isMissing(shell: string): string | false {
  return spawnSync(shell, ["-c", ":"]).status === 0 ? false : `${shell} is not installed`;
}

/** Returns bash's offers for the last word of `line`, which may be empty. */
async function bashOffers(line: string): Promise<readonly string[]> {
  // readline takes the equals sign for a word of its own.
  const words = line
    .split(/(=)| /)
    .filter((word) => word !== undefined && word !== "")
    .concat(/[ =]$/.test(line) ? "" : []);
  const program = `${await script("bash")}
COMP_WORDS=(${words.map((word) => `'${word}'`).join(" ")})
COMP_CWORD=${words.length - 1}
_gateway
printf '%s\\n' "\${COMPREPLY[@]}"`;
  const { status, stdout, stderr } = spawnSync("bash", ["--norc", "-c", program], { cwd: "test", encoding: "utf8" });
  assert.equal(stderr, "");
  assert.equal(status, 0);
  return stdout.split("\n").filter((word) => word !== "");
}

const BASH: readonly (readonly [line: string, offered: readonly string[]])[] = [
  ["gateway ", [...new Set(VERBS.map(({ name }) => name.split(" ")[0] ?? ""))]],
  ["gateway cluster r", ["recover"]],
  ["gateway cluster recover -k", ["-keep"]],
  ["gateway ch", ["check"]],
  ["gateway -dia", ["-dialect"]],
  ["gateway -dialect ", ["compat", "messages"]],
  ["gateway --dialect m", ["messages"]],
  ["gateway -dialect=", ["compat", "messages"]],
  ["gateway -dialect=m", ["messages"]],
  ["gateway --dialect=m", ["messages"]],
  ["gateway get -o=j", ["json"]],
  ["gateway get --col", ["--columns"]],
  ["gateway status -socket=run.m", ["run.mjs"]],
  ["gateway -listen ", []],
  ["gateway -listen :1 -conf", ["-config", "-config-schema"]],
  ["gateway check ", ["-config", "-timeout", "-offline", "-help"]],
  ["gateway check -t", ["-timeout"]],
  ["gateway check -config run.m", ["run.mjs"]],
  ["gateway check -config data/cli/help-ch", ["data/cli/help-check.txt"]],
  ["gateway snapshot ", ["save", "restore"]],
  ["gateway snapshot save -st", ["-stale"]],
  ["gateway snapshot restore -socket s data/cli/help-ch", ["data/cli/help-check.txt"]],
  ["gateway snapshot save run.m", ["run.mjs"]],
  ["gateway query -o ", ["table", "csv", "json", "rows"]],
  ["gateway -v", ["-version"]],
  ["gateway -preset anth", ["anthropic"]],
  ["gateway admin P", ["PATCH", "POST", "PUT"]],
  ["gateway admin keys", ["keys", "keys/"]],
  ["gateway admin GET sour", ["sources", "sources/"]],
  ["gateway admin DELETE ", ["keys/", "suspensions/", "acknowledgements/", "secrets/", "sources/", "cluster_members/"]],
  ["gateway admin POST cl", ["cluster/prune", "cluster/leader"]],
  ["gateway admin -socket s PUT ", ["suspensions/", "acknowledgements/", "secrets/", "sources/"]],
  ["gateway completion ", ["bash", "zsh", "fish"]],
  ["gateway completion z", ["zsh"]],
  ["gateway help si", ["simulate"]],
  ["gateway help sn", ["snapshot"]],
  ["gateway keys r", ["rotate", "revoke"]],
  ["gateway get cert", ["certificates"]],
  ["gateway wait re", ["ready"]],
  ["gateway help snapshot ", ["save", "restore"]],
  ["gateway audit ", ["verify"]],
  ["gateway audit verify -", ["-heads", "-key", "-controls", "-q", "-help"]],
  ["gateway audit verify -heads data/cli/help-ch", ["data/cli/help-check.txt"]],
  ["gateway audit verify data/cli/help-ch", ["data/cli/help-check.txt"]],
  ["gateway log", ["login", "logout"]],
  ["gateway login -d", ["-device"]],
  ["gateway logout -", ["-all", "-list", "-help"]],
  ["gateway admin -", ["-socket", "-url", "-d", "-if-match", "-help"]],
  ["gateway admin -socket data/cli/help-ch", ["data/cli/help-check.txt"]],
];

for (const [line, offered] of BASH) {
  test(`bash completes '${line}'`, { skip: isMissing("bash") }, async () => {
    assert.deepEqual(await bashOffers(line), offered);
  });
}

/** util-linux, which gives the shell a terminal; other systems have another syntax. */
const lacksTerminal =
  process.platform === "linux" && spawnSync("script", ["-qec", ":", "/dev/null"]).status === 0
    ? isMissing("bash")
    : "no program script that gives a terminal";

test("bash in a terminal completes the typed text with Tab", { skip: lacksTerminal }, async () => {
  const shell = 'bash --noprofile --rcfile "$RCFILE" -i';
  const directory = mkdtempSync(join(tmpdir(), "gateway-completion-"));
  try {
    const rcfile = join(directory, "rc");
    // Replaces the program and prints its arguments.
    const text = `PS1=; gateway() { printf '<%s>' "$@"; echo; }\nbind 'set bell-style none'\n`;
    writeFileSync(rcfile, `${text}${await script("bash")}`);
    const { stdout, status } = spawnSync("script", ["-qec", shell, "/dev/null"], {
      input: "gateway aud\tver\t-hea\tx\ngateway help snap\tres\t\ngateway -dial\tmes\t\nexit 0\n",
      env: { PATH: process.env["PATH"], RCFILE: rcfile, TERM: "dumb", HOME: directory },
      encoding: "utf8",
      timeout: 20_000,
    });
    assert.equal(status, 0, stdout);
    const suggested = stdout.split(/\r?\n/).filter((line) => line.startsWith("<"));
    assert.deepEqual(
      suggested,
      ["<audit><verify><-heads><x>", "<help><snapshot><restore>", "<-dialect><messages>"],
      stdout,
    );
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
});

const FISH: readonly (readonly [line: string, offered: readonly string[]])[] = [
  ["gateway ke", ["keys"]],
  ["gateway keys ", ["find", "mint", "revoke", "rotate"]],
  ["gateway keys mint ", []],
  ["gateway secrets list ", []],
  ["gateway get key", ["keys"]],
  ["gateway get find", []],
  ["gateway keys mint -pro", ["-profile"]],
  ["gateway get -o j", ["json"]],
  ["gateway get --o j", ["json"]],
  ["gateway get -o=j", ["-o=json"]],
  ["gateway get --o=j", ["--o=json"]],
  ["gateway get -w", ["-watch", "-where"]],
  ["gateway get --w", ["--watch", "--where"]],
  ["gateway --dialect ", ["compat", "messages"]],
  ["gateway help keys ", ["find", "mint", "revoke", "rotate"]],
  ["gateway admin P", ["PATCH", "POST", "PUT"]],
  ["gateway admin PUT s", ["secrets/", "sources/", "suspensions/"]],
];

test("fish completes the words of the verb that was typed, and no others", { skip: isMissing("fish") }, async () => {
  const directory = mkdtempSync(join(tmpdir(), "gateway-completion-"));
  try {
    const file = join(directory, "gateway.fish");
    writeFileSync(file, await script("fish"));
    for (const [line, offered] of FISH) {
      const command = `source ${file}; complete -C '${line}'`;
      const { stdout, stderr } = spawnSync("fish", ["--no-config", "-c", command], {
        cwd: directory,
        encoding: "utf8",
      });
      const words = stdout.split("\n").flatMap((row) => row.split("\t")[0] || []);
      assert.deepEqual([line, words, stderr], [line, offered, ""]);
    }
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
});

const lacksZsh = isMissing("zsh") || lacksTerminal;

test("zsh in a terminal completes with the first Tab, after `=`, and flags with two dashes", {
  skip: lacksZsh,
}, async () => {
  const directory = mkdtempSync(join(tmpdir(), "gateway-completion-"));
  try {
    writeFileSync(join(directory, "_gateway"), await script("zsh"));
    // Replaces the program and prints its arguments.
    const text = `fpath=(${directory} $fpath); autoload -Uz compinit; compinit -D -u; setopt NO_BEEP; PS1=''
gateway() { print -n '<'\${(j:><:)@}; print '>' }\n`;
    writeFileSync(join(directory, ".zshrc"), text);
    const { stdout, status } = spawnSync("script", ["-qec", "zsh -i", "/dev/null"], {
      input: "gateway aud\tver\t-hea\tx\ngateway get -o=js\t\ngateway get --o js\t\ngateway --dial\tmes\t\nexit 0\n",
      env: { PATH: process.env["PATH"], ZDOTDIR: directory, TERM: "vt100", HOME: directory },
      encoding: "utf8",
      timeout: 20_000,
    });
    assert.equal(status, 0, stdout);
    const ran = stdout.split(/\r*\n/).filter((line) => /^<.*>$/.test(line));
    assert.deepEqual(
      ran,
      ["<audit><verify><-heads=x>", "<get><-o=json>", "<get><--o><json>", "<--dialect=messages>"],
      stdout,
    );
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
});

test("bash completes names of the running gateway, before and after a colon", async () => {
  const directory = mkdtempSync(join(tmpdir(), "gateway-completion-"));
  try {
    const stub = join(directory, "gateway");
    writeFileSync(stub, '#!/bin/sh\necho "asked $*" >&2\nprintf "provider:openai\\nprovider:other\\nkey:ci\\n"\n', {
      mode: 0o755,
    });
    for (const [line, offered] of [
      ["gateway suspend ", ["provider:openai", "provider:other", "key:ci"]],
      ["gateway suspend k", ["key:ci"]],
      ["gateway suspend provider:op", ["openai"]],
      ["gateway suspend -rea", ["-reason"]],
    ] as const) {
      // readline passes a word that ends at the colon in three parts.
      const words = line.split(/(:)| /).filter((word) => word !== undefined);
      const program = `${await script("bash")}
COMP_WORDBREAKS=':= '
COMP_LINE=${JSON.stringify(line)}; COMP_POINT=${line.length}
COMP_WORDS=(${words.map((word) => `'${word}'`).join(" ")})
COMP_CWORD=${words.length - 1}
_gateway
printf '%s\n' "\${COMPREPLY[@]}"`;
      const env = { PATH: `${directory}:${process.env["PATH"]}` };
      const { stdout, stderr } = spawnSync("bash", ["--norc", "-c", program], { env, encoding: "utf8" });
      assert.equal(stderr, "");
      assert.deepEqual(
        stdout.split("\n").filter((word) => word !== ""),
        offered,
        line,
      );
    }
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
});

for (const shell of SHELLS) {
  test(`${shell} accepts its script`, { skip: isMissing(shell) }, async () => {
    const directory = mkdtempSync(join(tmpdir(), "gateway-completion-"));
    try {
      // fish reads a script from standard input only if that is a terminal or a file.
      const file = join(directory, "script");
      writeFileSync(file, await script(shell));
      const { status, stderr } = spawnSync(shell, ["-n", file], { encoding: "utf8" });
      assert.equal(stderr, "");
      assert.equal(status, 0);
    } finally {
      rmSync(directory, { recursive: true, force: true });
    }
  });

  test(`the script of ${shell} knows every verb and its flags`, async () => {
    const text = await script(shell);
    for (const { name, flags } of VERBS) {
      for (const word of [...name.split(" "), ...Object.keys(flags)])
        assert.ok(text.includes(word), `${word} of ${name}`);
    }
  });
}
