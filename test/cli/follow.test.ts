/** A file that grows, is rotated, truncated, or missing at first. */

import assert from "node:assert/strict";
import { appendFile, mkdir, mkdtemp, rename, rm, rmdir, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { follow } from "../../src/cli/follow.ts";
import { atEnd, eventually, type Owner, within } from "../e2e/support/wait.ts";

const FROM_END = 1_000;

interface Following {
  readonly file: string;
  text(): string;
  sees(text: string): Promise<unknown>;
  stop(): Promise<void>;
}

async function start(owner: Owner, before?: string | Uint8Array, fromEnd = FROM_END): Promise<Following> {
  const folder = await mkdtemp(join(tmpdir(), "follow-"));
  atEnd(owner, () => rm(folder, { recursive: true }));
  const file = join(folder, "audit.jsonl");
  if (before !== undefined) await writeFile(file, before);
  const stop = new AbortController();
  let text = "";
  const ended = (async () => {
    for await (const piece of follow(file, fromEnd, stop.signal)) text += piece;
  })();
  const stopped = (): Promise<void> => {
    stop.abort();
    return within("the end of it", ended);
  };
  atEnd(owner, stopped);
  return {
    file,
    text: () => text,
    sees: (wanted) => eventually(`the text ${JSON.stringify(wanted)}`, () => text === wanted),
    stop: stopped,
  };
}

test("a file is read from its start, and then its additions", async (t) => {
  const it = await start(t, "one\ntwo\n");
  await it.sees("one\ntwo\n");
  await appendFile(it.file, "three\n");
  await it.sees("one\ntwo\nthree\n");
});

test("of a long file only the complete lines in its last bytes are read", async (t) => {
  const it = await start(t, `${"a".repeat(100_000)}\n${"b".repeat(90)}\nlast\n`, 95);
  await it.sees("last\n");
});

test("a line that begins exactly where reading starts is complete", async (t) => {
  const it = await start(t, "first\nsecond\n", 7);
  await it.sees("second\n");
});

test("a file without a newline in its last bytes begins with the next line", async (t) => {
  const it = await start(t, "a".repeat(200_000), 100_000);
  await appendFile(it.file, "\nnext\n");
  await it.sees("next\n");
});

test("a rotated file is read to its end before the new one", async (t) => {
  const it = await start(t, "one\n");
  await it.sees("one\n");
  await appendFile(it.file, "two\n");
  await rename(it.file, `${it.file}.1`);
  await appendFile(`${it.file}.1`, "three\n");
  await writeFile(it.file, "four\n");
  await it.sees("one\ntwo\nthree\nfour\n");
});

test("a truncated file is read from the start", async (t) => {
  const it = await start(t, "one, which is long\n");
  await it.sees("one, which is long\n");
  await truncate(it.file);
  await appendFile(it.file, "two\n");
  await it.sees("one, which is long\ntwo\n");
});

test("a missing file is awaited, and read from its start whatever its length", async (t) => {
  const it = await start(t);
  const long = `${"a".repeat(2 * FROM_END)}\n`;
  await writeFile(`${it.file}.part`, long);
  await rename(`${it.file}.part`, it.file);
  await it.sees(long);
});

test("a character written in two pieces is joined", async (t) => {
  const [head, tail] = [Buffer.from("grü").subarray(0, 3), Buffer.from("grü").subarray(3)];
  const it = await start(t, head);
  await it.sees("gr");
  await appendFile(it.file, tail);
  await it.sees("grü");
});

test("following ends with its signal", async (t) => {
  const it = await start(t, "one\n");
  await it.sees("one\n");
  await it.stop();
  await appendFile(it.file, "two\n");
  assert.equal(it.text(), "one\n");
});

test("the reason for a missing file is reported, and its return too", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "follow-"));
  atEnd(t, () => rm(folder, { recursive: true }));
  const file = join(folder, "audit.jsonl");
  const stop = new AbortController();
  const reported: (string | undefined)[] = [];
  const waiting = (reason: string | undefined): void => void (reported.at(-1) === reason || reported.push(reason));
  const reading = follow(file, FROM_END, stop.signal, waiting).next();
  await eventually("the missing file", () => reported.at(-1) === "there is no such file");
  await mkdir(file);
  await eventually("the directory", () => reported.at(-1) === "it is a directory");
  await rmdir(file);
  await writeFile(file, "one\n");
  assert.deepEqual(await within("the text", reading), { done: false, value: "one\n" });
  assert.equal(reported.at(-1), undefined);
  stop.abort();
});
