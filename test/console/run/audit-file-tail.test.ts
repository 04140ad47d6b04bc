/** Lines of a growing trail: delivered in batches, complete, and no more than are kept. */

import assert from "node:assert/strict";
import { appendFile, mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { follow } from "../../../src/cli/follow.ts";
import { keepTail } from "../../../src/console/run/audit-file-tail.ts";
import { atEnd, eventually, type Owner, within } from "../../e2e/support/wait.ts";

interface Tail {
  readonly file: string;
  readonly reported: readonly (readonly string[])[];
  sees(lines: readonly string[]): Promise<unknown>;
}

async function start(owner: Owner, before: string): Promise<Tail> {
  const folder = await mkdtemp(join(tmpdir(), "tail-"));
  atEnd(owner, () => rm(folder, { recursive: true }));
  const file = join(folder, "audit.jsonl");
  await writeFile(file, before);
  const stop = new AbortController();
  const reported: (readonly string[])[] = [];
  const ended = keepTail({
    follow: (fromEnd, signal) => follow(file, fromEnd, signal),
    signal: stop.signal,
    onLines: (lines) => reported.push(lines),
  });
  atEnd(owner, () => {
    stop.abort();
    return within("the end of the tail", ended);
  });
  return {
    file,
    reported,
    sees: (lines) =>
      eventually(`the lines ${lines.slice(-3)}`, () => {
        const newest = reported.at(-1);
        return newest?.length === lines.length && newest.every((line, at) => line === lines[at]);
      }),
  };
}

const numbered = (from: number, to: number): readonly string[] =>
  Array.from({ length: to - from }, (_, at) => `{"seq":${from + at}}`);

const textOf = (lines: readonly string[]): string => lines.map((line) => `${line}\n`).join("");

test("complete lines are reported, and a partial one once it is complete", async (t) => {
  const tail = await start(t, "one\ntw");
  await tail.sees(["one"]);
  await appendFile(tail.file, "o\n\nthree\n");
  await tail.sees(["one", "two", "three"]);
});

test("lines that arrive together are reported together", async (t) => {
  const lines = numbered(0, 900);
  const tail = await start(t, textOf(lines));
  await tail.sees(lines);
  assert.equal(tail.reported.length, 1);
});

test("the newest thousand lines are kept, for any length of the trail", async (t) => {
  const lines = numbered(0, 40_000);
  const tail = await start(t, textOf(lines));
  await tail.sees(lines.slice(-1_000));
  await appendFile(tail.file, "last\n");
  await tail.sees([...lines.slice(-999), "last"]);
});

test("the first line of a long trail is never partial", async (t) => {
  const long = `{"seq":1,"data":"${"a".repeat(300_000)}"}`;
  const tail = await start(t, textOf([long, "two"]));
  await tail.sees(["two"]);
});

test("a replaced trail continues with the new file", async (t) => {
  const tail = await start(t, "one\n");
  await tail.sees(["one"]);
  await rename(tail.file, `${tail.file}.1`);
  await writeFile(tail.file, "two\n");
  await tail.sees(["one", "two"]);
});

test("a line is truncated to its limit, and a file without newlines fills no memory", async (t) => {
  const tail = await start(t, "");
  await appendFile(tail.file, "a".repeat(200_000));
  await appendFile(tail.file, "\nnext\n");
  await eventually("the next line", () => tail.reported.at(-1)?.at(-1) === "next");
  assert.ok((tail.reported.at(-1)?.[0]?.length ?? 0) <= 65_536);
});
