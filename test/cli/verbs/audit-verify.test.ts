/** `gateway audit verify`: what it prints, on which stream, and its exit status. */

import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { type TestContext, test } from "node:test";
import { gzipSync } from "node:zlib";
import { execute } from "../../../src/cli/main.ts";
import { type FlagsOf, parseFlags, UsageError } from "../../../src/cli/parse-flags.ts";
import { Interrupted, type Io } from "../../../src/cli/process-io.ts";
import { auditVerifyFlags } from "../../../src/cli/verb-flags.ts";
import { run } from "../../../src/cli/verbs/audit-verify.ts";
import { makeTrail, textOf } from "../../server/audit/support/trails.ts";
import { bufferIo } from "../buffer-io.ts";

const NOT_JUDGED =
  "repeated and misplaced records are counted and are not faults: the order of a chain follows its signed numbers";
const made = makeTrail({ records: 4 });
const { kid, raw } = made.key;

function folder(context: TestContext, files: Readonly<Record<string, string>>): string {
  const path = mkdtempSync(join(tmpdir(), "audit-verify-"));
  context.after(() => rmSync(path, { recursive: true }));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(path, name), text);
  return path;
}

async function verb(args: readonly string[], over: Partial<Io>) {
  const parsed = parseFlags(auditVerifyFlags, args);
  assert.ok(parsed.kind !== "help");
  const io = bufferIo(over);
  const status = await run(parsed.options satisfies FlagsOf<typeof auditVerifyFlags>, parsed.positionals, io);
  return { status, out: io.out(), err: io.err() };
}

test("a verified trail prints a line per chain and a total, with status 0", async (context) => {
  const other = makeTrail({ node: "n2", records: 1_200 });
  const cwd = folder(context, { trail: textOf([...made.lines, ...made.lines.slice(3)]), more: textOf(other.lines) });
  assert.deepEqual(await verb(["trail", "more"], { cwd }), {
    status: 0,
    out: `ok   n1 ${kid} 0..3, 4 records, 1 repeated copy\nok   n2 ${other.key.kid} 0..1199, 1,200 records\n${NOT_JUDGED}\n2 chains, 1,204 records: verified\n`,
    err: "",
  });
  assert.deepEqual(await verb(["-q", "trail", "more"], { cwd }), { status: 0, out: "", err: "" });
});

test("swapped lines are reported with their number and first place, and are not an error", async (context) => {
  const swapped = [0, 2, 1, 3].map((at) => made.lines[at] ?? "");
  const cwd = folder(context, { trail: textOf(swapped) });
  const text = `ok   n1 ${kid} 0..3, 4 records, 1 record behind a later one (the first at trail:3)\n`;
  assert.deepEqual(await verb(["trail"], { cwd }), {
    status: 0,
    out: `${text}${NOT_JUDGED}\n1 chain, 4 records: verified\n`,
    err: "",
  });
});

test("a finding has node, kid, number and line, with status 1; -q prints the findings alone", async (context) => {
  const cwd = folder(context, { trail: textOf(made.lines.with(2, made.lines[2]?.replace('"n":2', '"n":3') ?? "")) });
  const finding = `finding n1 ${kid} seq 2 trail:3: its content does not match its hash\n`;
  const { status, out } = await verb(["trail"], { cwd });
  assert.equal(status, 1);
  assert.equal(out, `FAIL n1 ${kid} 0..3, 4 records\n${finding}1 chain, 4 records: 1 finding\n`);
  assert.deepEqual(await verb(["-q", "trail"], { cwd }), { status: 1, out: finding, err: "" });
});

test("'-' reads stdin", async () => {
  const { status, out } = await verb(["-"], { stdin: Readable.from([Buffer.from(textOf(made.lines))]) });
  assert.equal(status, 0);
  assert.match(out, /4 records: verified\n$/);
});

test("a truncated trail is detected against the heads", async (context) => {
  const heads = JSON.stringify([{ node: "n1", ...made.chain.head }]);
  const answer = JSON.stringify({ items: JSON.parse(heads), next_cursor: null });
  const cwd = folder(context, { heads, answer, whole: textOf(made.lines), cut: textOf(made.lines.slice(0, 3)) });
  assert.equal((await verb(["-heads", "heads", "whole"], { cwd })).status, 0);
  // The answer of `gateway admin audit_heads` as it is.
  assert.equal((await verb(["-heads", "answer", "whole"], { cwd })).status, 0);
  assert.equal((await verb(["-heads", "answer", "cut"], { cwd })).status, 1);
  const { status, out } = await verb(["-q", "-heads", "heads", "cut"], { cwd });
  assert.equal(status, 1);
  assert.equal(out, `finding n1 ${kid} seq 3: the cluster has stored record 3, but the chain ends at 2: it was cut\n`);
});

test("a chain without its start verifies with -key, and the error without it names the flag", async (context) => {
  const cwd = folder(context, { trail: textOf(made.lines.slice(1)) });
  assert.match((await verb(["trail"], { cwd })).out, new RegExp(`-key ${kid}=BASE64`));
  assert.equal((await verb(["-key", `${kid}=${raw.toString("base64")}`, "trail"], { cwd })).status, 0);
});

test("an input without a record is a finding", async (context) => {
  const cwd = folder(context, { trail: "nothing\n" });
  const { status, out } = await verb(["trail"], { cwd });
  assert.equal(status, 1);
  assert.equal(
    out,
    "finding: the input contains no audit records; each is a JSON object on a line of its own\n0 chains, 0 records: 1 finding\n",
  );
});

test("a compressed trail or UTF-16 is refused with the command that reads it, also among other files and on stdin", async (context) => {
  const text = textOf(made.lines);
  const cwd = folder(context, { trail: text });
  const forms: readonly (readonly [name: string, bytes: Buffer, says: string])[] = [
    ["trail.gz", gzipSync(text), "compressed with gzip: gunzip -c trail.gz |"],
    ["trail.zst", Buffer.from("28b52ffd04000000", "hex"), "compressed with Zstandard: zstd -dc trail.zst |"],
    ["trail.xz", Buffer.from("fd377a585a000004", "hex"), "compressed with xz: xz -dc trail.xz |"],
    ["trail.bz2", Buffer.from("BZh91AY"), "compressed with bzip2: bzip2 -dc trail.bz2 |"],
    ["utf-16", Buffer.from(`\ufeff${text}`, "utf16le"), "UTF-16: iconv -f UTF-16 -t UTF-8 utf-16 |"],
    ["a b", gzipSync(text), "compressed with gzip: gunzip -c FILE |"],
  ];
  for (const [name, bytes, output] of forms) {
    writeFileSync(join(cwd, name), bytes);
    const io = bufferIo({ cwd });
    assert.equal(await execute(["audit", "verify", "trail", name], io), 2);
    const [out, err] = [io.out(), io.err()];
    assert.equal(out, "");
    assert.ok(err.startsWith(`gateway audit verify: ${name} is ${output} gateway audit verify -\n`), err);
  }
  const io = bufferIo({ stdin: Readable.from([gzipSync(text)]) });
  assert.equal(await execute(["audit", "verify", "-"], io), 2);
  assert.match(io.err(), /stdin is compressed with gzip: gunzip -c \| gateway audit verify -/);
});

test("an unreadable input is a usage error that names it", async (context) => {
  const cwd = folder(context, { trail: textOf(made.lines), heads: "no" });
  const wrong: readonly (readonly [readonly string[], RegExp])[] = [
    [[], /FILE/],
    [["absent"], /^absent cannot be read: there is no such file/],
    [["."], /cannot be read: it is a directory/],
    [["-", "-"], /more than once/],
    [["-heads", "absent", "trail"], /'-heads': absent: there is no such file/],
    [["-heads", "heads", "trail"], /'-heads': heads: it is not JSON/],
    [["-key", "nonsense", "trail"], /'-key': it is not KID=BASE64/],
    [["-key", `${kid}=${Buffer.alloc(32, 1).toString("base64")}`, "trail"], /thumbprint/],
  ];
  for (const [args, message] of wrong) {
    await assert.rejects(
      verb(args, { cwd }),
      (error) => error instanceof UsageError && message.test(error.message),
      args.join(" "),
    );
  }
});

test("progress is shown on a terminal alone, and cleared", async (context) => {
  const cwd = folder(context, { trail: textOf(makeTrail({ records: 900 }).lines) });
  let now = 0;
  const watched = await verb(["trail"], { cwd, isTerminal: () => true, now: () => (now += 1_000) });
  assert.match(watched.err, /^\r\u001b\[K[\d,]+ records, \d+ MB/);
  assert.ok(watched.err.endsWith("\r\u001b[K"));
  assert.equal((await verb(["trail"], { cwd })).err, "");
});

test("a forged record's text contains no terminal escapes", async (context) => {
  const { lines } = makeTrail({ node: "n\u001b[2J1" });
  const { out } = await verb(["trail"], { cwd: folder(context, { trail: textOf(lines) }) });
  assert.doesNotMatch(out, /\u001b/);
});

test("an interruption ends the verification", async (context) => {
  const cwd = folder(context, { trail: textOf(made.lines) });
  await assert.rejects(verb(["trail"], { cwd, signal: AbortSignal.abort() }), { name: "AbortError" });
});

test("an interruption ends the wait for stdin", async () => {
  const stop = new AbortController();
  const stdin = new Readable({ read: () => stop.abort(new Interrupted("SIGINT")) });
  await assert.rejects(verb(["-"], { stdin, signal: stop.signal }), { name: "Interrupted" });
});
