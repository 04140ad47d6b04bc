/** Bytes between a verb and its streams. */

import assert from "node:assert/strict";
import { Readable, Writable } from "node:stream";
import { test } from "node:test";
import { joinLines, readAll, writeAll } from "../../src/cli/copy-streams.ts";
import { UsageError } from "../../src/cli/parse-flags.ts";

const FOREVER = new AbortController().signal;

/** Accepts a part on each request. */
function slowWritable(): { readonly stream: Writable; readonly taken: string[]; next(): void } {
  const taken: string[] = [];
  let release = (): void => undefined;
  const stream = new Writable({
    highWaterMark: 1,
    write(chunk, _encoding, done) {
      taken.push(String(chunk));
      release = done;
    },
  });
  return { stream, taken, next: () => release() };
}

test("parts are written at the reader's pace", async () => {
  const { stream, taken, next } = slowWritable();
  let made = 0;
  const parts = (function* (): Generator<string> {
    for (const part of ["a", "b", "c"]) {
      made += 1;
      // The earlier parts have been accepted by then.
      assert.equal(taken.length, made - 1);
      setImmediate(next);
      yield part;
    }
  })();
  await writeAll(stream, parts, FOREVER);
  assert.deepEqual([made, taken], [3, ["a", "b", "c"]]);
});

test("a reader that disconnects ends the write with the reason", async () => {
  const { stream } = slowWritable();
  const leaving = new AbortController();
  const writing = writeAll(stream, ["a", "b"], leaving.signal);
  const reason = new Error("the reader has gone");
  leaving.abort(reason);
  await assert.rejects(writing, reason);
  await assert.rejects(writeAll(stream, ["a"], AbortSignal.abort(reason)), reason);
});

test("an input is read to its end, with a limit, in bytes", async () => {
  const input = () => Readable.from([Buffer.from("\u00fc"), "b"]);
  assert.equal((await readAll(input(), 3, "it", FOREVER)).toString(), "\u00fcb");
  await assert.rejects(readAll(input(), 2, "it", FOREVER), new UsageError("it is over 2 bytes"));
});

test("lines become few writes, and none is lost", () => {
  const lines = Array.from({ length: 10_000 }, (_, at) => `line ${at}\n`);
  const parts = [...joinLines(lines)];
  assert.equal(parts.join(""), lines.join(""));
  assert.ok(parts.length <= 3, `${parts.length} writes`);
  assert.deepEqual([...joinLines([])], []);
});
