/** The log's two forms, its levels, its bounds, and that nothing put into it can break a line or throw. */

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { GatewayError } from "../../src/base/errors.ts";
import { createLogger, type Log, type LogLevel, nullLog, parseLogLevel } from "../../src/base/log.ts";

const NOW = Date.UTC(2026, 6, 28, 9, 30, 15, 250);

function logInto(options: { readonly isTerminal?: boolean; readonly level?: LogLevel } = {}): {
  readonly log: Log;
  readonly lines: string[];
} {
  const lines: string[] = [];
  const log = createLogger({
    stream: { write: (text) => lines.push(text) },
    isTerminal: options.isTerminal ?? false,
    level: options.level ?? "info",
    now: () => NOW,
  });
  return { log, lines };
}

test("without a terminal a line is one JSON object: time, level, message, then the fields", () => {
  const { log, lines } = logInto();
  log.warn("listening", { listener: "metrics", port: 9464, isOpen: true, none: null, absent: undefined });
  assert.deepEqual(lines, [
    '{"time":"2026-07-28T09:30:15.250Z","level":"warn","message":"listening","listener":"metrics","port":9464,"isOpen":true,"none":null}\n',
  ]);
});

test("on a terminal a line is text with the fields as pairs", () => {
  const { log, lines } = logInto({ isTerminal: true });
  log.info("listening", { address: "127.0.0.1:80", reason: "two words", empty: "" });
  assert.deepEqual(lines, [
    '2026-07-28T09:30:15.250Z INFO  listening address=127.0.0.1:80 reason="two words" empty=""\n',
  ]);
});

test("levels under the chosen one are not written", () => {
  for (const [level, expected] of [
    ["debug", 4],
    ["info", 3],
    ["warn", 2],
    ["error", 1],
  ] as const) {
    const { log, lines } = logInto({ level });
    log.debug("a");
    log.info("b");
    log.warn("c");
    log.error("d");
    assert.equal(lines.length, expected, level);
  }
});

test("GATEWAY_LOG is one of four words", () => {
  for (const level of ["debug", "info", "warn", "error"]) assert.equal(parseLogLevel(level), level);
  for (const text of ["", "INFO", "trace", " info", "constructor"]) assert.equal(parseLogLevel(text), undefined);
});

test("an error is its name, code and message with the chain of its causes, and no stack", () => {
  const { log, lines } = logInto();
  const socket = Object.assign(new Error("connect refused"), { code: "ECONNREFUSED" });
  log.error("attempt failed", {
    error: new GatewayError("upstream_unreachable", "no answer", { cause: new TypeError("fetch", { cause: socket }) }),
  });
  assert.deepEqual(JSON.parse(lines[0] as string).error, {
    name: "GatewayError",
    code: "upstream_unreachable",
    message: "no answer",
    cause: {
      name: "TypeError",
      message: "fetch",
      cause: { name: "Error", code: "ECONNREFUSED", message: "connect refused" },
    },
  });
});

test("at debug an error carries its stack", () => {
  const { log, lines } = logInto({ level: "debug" });
  log.error("failed", { error: new Error("boom") });
  assert.match(JSON.parse(lines[0] as string).error.stack, /log\.test\.ts/);
});

test("a chain of causes that loops ends", () => {
  const { log, lines } = logInto();
  const error = new Error("a");
  error.cause = new Error("b", { cause: error });
  log.error("failed", { error });
  assert.ok((lines[0] as string).length < 1_000);
});

test("a value that loops, throws or cannot be written still gives a line that parses", () => {
  const loop: Record<string, unknown> = {};
  loop["self"] = loop;
  const throwing = {
    get broken(): string {
      throw new Error("getter");
    },
  };
  const values: unknown[] = [
    loop,
    throwing,
    10n,
    Symbol("s"),
    () => 1,
    Number.NaN,
    new Date(Number.NaN),
    new Uint8Array(9),
  ];
  for (const value of values) {
    const { log, lines } = logInto();
    log.info("value", { value });
    assert.equal(JSON.parse(lines[0] as string).message, "value");
  }
});

test("a field cannot replace the time, the level or the message", () => {
  const { log, lines } = logInto();
  log.info("real", { message: "forged", level: "debug", time: "never" });
  const line = JSON.parse(lines[0] as string);
  assert.deepEqual([line.message, line.level, line._message, line._level], ["real", "info", "forged", "debug"]);
});

test("long texts are cut, and fields beyond a line's bound are left out with a word on it", () => {
  const { log, lines } = logInto();
  log.info("long", { text: "x".repeat(100_000) });
  log.info("many", { texts: Array.from({ length: 60 }, () => "y".repeat(1_900)) });
  assert.equal(JSON.parse(lines[0] as string).text.length, 2_001);
  assert.equal(JSON.parse(lines[1] as string).log_fault, "the fields exceed a line's bound");
});

test("no text can begin a second line or send a control to a terminal", () => {
  const hostile = 'a\r\n2026 INFO forged\u001b[2J\u009b\u007f\u2028\u202e"=b';
  for (const isTerminal of [true, false]) {
    const { log, lines } = logInto({ isTerminal });
    log.info(hostile, { [hostile]: hostile, error: new Error(hostile) });
    assert.doesNotMatch((lines[0] as string).slice(0, -1), /[\u0000-\u001f\u007f-\u009f\u2028\u202e]/);
    if (!isTerminal) assert.equal(JSON.parse(lines[0] as string).message, hostile);
  }
});

test("whatever the fields are, JSON lines are single and parse", () => {
  fc.assert(
    fc.property(fc.string(), fc.dictionary(fc.string(), fc.anything()), (message, fields) => {
      const { log, lines } = logInto();
      log.info(message, fields);
      assert.equal(lines.length, 1);
      assert.match(lines[0] as string, /^[^\n]*\n$/);
      assert.equal(JSON.parse(lines[0] as string).level, "info");
    }),
  );
});

test("a stream or a clock that fails does not reach the caller", () => {
  const failing = {
    write() {
      throw new Error("EPIPE");
    },
  };
  createLogger({ stream: failing, isTerminal: false, level: "info", now: () => NOW }).error("lost");
  const lines: string[] = [];
  const stream = { write: (text: string) => lines.push(text) };
  createLogger({ stream, isTerminal: false, level: "info", now: () => Number.NaN }).error("kept");
  assert.equal(JSON.parse(lines[0] as string).time, "unknown");
});

test("the null log takes everything and does nothing", () => {
  for (const level of ["debug", "info", "warn", "error"] as const) assert.equal(nullLog[level]("x"), undefined);
});
