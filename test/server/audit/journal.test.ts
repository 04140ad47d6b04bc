/** The journal as bytes: torn at every position, damaged, rotated. */

import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import {
  continueJournal,
  createJournal,
  JOURNAL_FILE,
  type Journal,
  loadJournal,
} from "../../../src/server/audit/journal.ts";
import type { JournalContent, JournalRecord } from "../../../src/server/audit/journal-format.ts";
import { makeTrail } from "./support/trails.ts";

function directory(context: TestContext): string {
  const dir = mkdtempSync(join(tmpdir(), "audit-journal-"));
  context.after(() => rmSync(dir, { recursive: true }));
  return dir;
}

function recordsOf(lines: readonly string[]): readonly JournalRecord[] {
  return lines.map((line) => ({ seq: JSON.parse(line).seq, hash: JSON.parse(line).hash, line }));
}

function made(dir: string, count: number): { readonly journal: Journal; readonly records: readonly JournalRecord[] } {
  const { lines, key } = makeTrail({ records: count });
  const records = recordsOf(lines);
  const chain = { node: "n1", kid: key.kid, succeeds: null };
  return { journal: createJournal(dir, chain, records.slice(0, 1)), records };
}

const load = (dir: string): JournalContent => loadJournal(dir) ?? assert.fail("there is no journal");
const seqs = ({ records }: JournalContent): readonly number[] => records.map(({ seq }) => seq);

test("appended records are read back with the acknowledged position", (context) => {
  const dir = directory(context);
  const { journal, records } = made(dir, 6);
  journal.append(records.slice(1, 3));
  journal.acknowledge(1);
  journal.append(records.slice(3, 6));
  const content = load(dir);
  assert.deepEqual(content.records, records);
  assert.equal(content.acknowledged, 1);
});

test("a missing journal is empty, and a new one is readable by its owner alone", (context) => {
  const dir = directory(context);
  assert.equal(loadJournal(dir), undefined);
  made(dir, 1).journal.close();
  assert.equal(statSync(join(dir, JOURNAL_FILE)).mode & 0o777, 0o600);
});

test("a journal torn at any byte of the last group continues from the last whole record", (context) => {
  const dir = directory(context);
  const { journal, records } = made(dir, 6);
  journal.append(records.slice(1, 3));
  journal.acknowledge(2);
  const before = statSync(join(dir, JOURNAL_FILE)).size;
  journal.append(records.slice(3, 6));
  journal.close();
  const bytes = readFileSync(join(dir, JOURNAL_FILE));
  for (let length = before; length < bytes.length; length += 1) {
    writeFileSync(join(dir, JOURNAL_FILE), bytes.subarray(0, length));
    const content = load(dir);
    const whole = 3 + bytes.subarray(before, length).toString("latin1").split("\n").length - 1;
    assert.deepEqual(seqs(content), [0, 1, 2, 3, 4, 5].slice(0, whole), `cut at ${length}`);
    continueJournal(dir, content).append(records.slice(whole));
    assert.deepEqual(readFileSync(join(dir, JOURNAL_FILE)), bytes, `gone on at ${length}`);
  }
});

test("a byte of the last group lost before the disk drops the records from it on, wherever it is", (context) => {
  const dir = directory(context);
  const { journal, records } = made(dir, 6);
  journal.append(records.slice(1, 3));
  journal.acknowledge(2);
  const before = statSync(join(dir, JOURNAL_FILE)).size;
  journal.append(records.slice(3, 6));
  const bytes = readFileSync(join(dir, JOURNAL_FILE));
  for (let at = before; at < bytes.length; at += 7) {
    const damaged = Buffer.from(bytes);
    damaged[at] = 0;
    writeFileSync(join(dir, JOURNAL_FILE), damaged);
    const whole = 3 + bytes.subarray(before, at).toString("latin1").split("\n").length - 1;
    assert.deepEqual(seqs(load(dir)), [0, 1, 2, 3, 4, 5].slice(0, whole), `zero at ${at}`);
  }
});

test("damage before the emitted position is refused with the remedy", (context) => {
  const dir = directory(context);
  const { journal, records } = made(dir, 6);
  journal.append(records.slice(1, 6));
  journal.acknowledge(5);
  const bytes = readFileSync(join(dir, JOURNAL_FILE));
  const lastLine = bytes.lastIndexOf(10, bytes.length - 2) + 1;
  for (let at = 0; at < lastLine; at += 11) {
    const damaged = Buffer.from(bytes);
    damaged.writeUInt8(damaged.readUInt8(at) ^ 1, at);
    writeFileSync(join(dir, JOURNAL_FILE), damaged);
    assert.throws(() => loadJournal(dir), { name: "AuditError", code: "damaged", message: /remove audit-head/ });
  }
});

test("a file that is not a journal is refused", (context) => {
  const dir = directory(context);
  const { records } = made(dir, 3);
  for (const text of ["", "\n", "hello\n", records[0]?.line ?? "", "00000000 {}\n"]) {
    writeFileSync(join(dir, JOURNAL_FILE), text);
    assert.throws(() => loadJournal(dir), { code: "damaged" }, JSON.stringify(text));
  }
});

test("a journal above one mebibyte is rewritten with its last records and continues", (context) => {
  const dir = directory(context);
  const { journal, records } = made(dir, 4_000);
  let largest = 0;
  for (let at = 1; at < records.length; at += 100) {
    const group = records.slice(at, at + 100);
    journal.append(group);
    journal.acknowledge(group.at(-1)?.seq ?? 0);
    largest = Math.max(largest, statSync(join(dir, JOURNAL_FILE)).size);
  }
  assert.ok(largest <= (1 << 20) + 100, `${largest} bytes`);
  const content = load(dir);
  assert.ok(content.records.length >= 256 && content.records.length < 3_000);
  assert.equal(content.records.at(-1)?.seq, 3_999);
  assert.equal(content.acknowledged, 3_999);
});

test("records that the output has not taken are kept whatever their size, and not rewritten repeatedly", (context) => {
  const dir = directory(context);
  const { journal, records } = made(dir, 6_000);
  journal.append(records.slice(1));
  journal.acknowledge(10);
  const before = statSync(join(dir, JOURNAL_FILE));
  for (let seq = 11; seq < 500; seq += 1) journal.acknowledge(seq);
  assert.equal(statSync(join(dir, JOURNAL_FILE)).ino, before.ino);
  const content = load(dir);
  assert.equal(content.acknowledged, 499);
  assert.deepEqual(content.records.slice(-5_500), records.slice(-5_500));
});
