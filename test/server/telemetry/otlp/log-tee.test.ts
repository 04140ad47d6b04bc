import assert from "node:assert/strict";
import { test } from "node:test";
import { createLogger, createLogTee, type LogLine } from "../../../../src/base/index.ts";

function logged(level: "debug" | "info" = "info") {
  const lines: LogLine[] = [];
  const written: string[] = [];
  const tee = createLogTee();
  const stream = { write: (text: string) => void written.push(text) };
  const log = createLogger({ stream, isTerminal: false, level, now: () => 0, tee });
  return { log, tee, lines, written, take: (line: LogLine) => void lines.push(line) };
}

test("the sink receives written lines, only while it is attached", () => {
  const { log, tee, lines, written, take } = logged();
  log.info("before");
  tee.sink = take;
  log.debug("below the level");
  log.warn("seen", { n: 1, error: new Error("why"), gone: undefined, time: "theirs" });
  tee.sink = undefined;
  log.info("after");
  assert.equal(written.length, 3);
  assert.deepEqual(lines, [
    {
      time: "1970-01-01T00:00:00.000Z",
      level: "warn",
      message: "seen",
      fields: { n: 1, error: { name: "Error", message: "why" }, _time: "theirs" },
    },
  ]);
  assert.deepEqual(JSON.parse(written[1] ?? ""), {
    time: "1970-01-01T00:00:00.000Z",
    level: "warn",
    message: "seen",
    ...lines[0]?.fields,
  });
});

test("an oversized line is truncated for the sink just as in the log", () => {
  const { log, tee, lines, written, take } = logged();
  tee.sink = take;
  log.info("long", { texts: Array.from({ length: 60 }, () => "x".repeat(1_900)) });
  assert.deepEqual({ ...lines[0]?.fields }.texts, (JSON.parse(written[0] ?? "") as { texts: unknown }).texts);
  assert.ok(JSON.stringify(lines[0]).length < 4_200);
});

test("a sink that throws affects neither the line nor its caller", () => {
  const { log, tee, written } = logged();
  tee.sink = () => {
    throw new Error("full");
  };
  log.info("one");
  log.info("two");
  assert.equal(written.length, 2);
});
