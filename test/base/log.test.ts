/** The log's two formats, its levels, its limits, and that no input can break a line or throw. */

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { GatewayError } from "../../src/base/errors.ts";
import { createLogger, type Log, type LogFields, type LogLevel, nullLog, parseLogLevel } from "../../src/base/log.ts";

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

test("levels below the chosen one are not written", () => {
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

test("GATEWAY_LOG accepts four levels", () => {
  for (const level of ["debug", "info", "warn", "error"]) assert.equal(parseLogLevel(level), level);
  for (const text of ["", "INFO", "trace", " info", "constructor"]) assert.equal(parseLogLevel(text), undefined);
});

test("an error is logged as name, code and message with its causes, and no stack", () => {
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

test("at debug an error has its stack", () => {
  const { log, lines } = logInto({ level: "debug" });
  log.error("failed", { error: new Error("boom") });
  assert.match(JSON.parse(lines[0] as string).error.stack, /log\.test\.ts/);
});

test("a cyclic chain of causes ends", () => {
  const { log, lines } = logInto();
  const error = new Error("a");
  error.cause = new Error("b", { cause: error });
  log.error("failed", { error });
  assert.ok((lines[0] as string).length < 1_000);
});

test("a cyclic, throwing or unserializable value still gives a valid line", () => {
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

test("a long text is truncated, the longest first, so that the line fits one pipe write", () => {
  for (const isTerminal of [true, false]) {
    const { log, lines } = logInto({ isTerminal });
    log.info("long", { text: "x".repeat(100_000), short: "kept", note: "y".repeat(300) });
    const line = lines[0] as string;
    assert.ok(Buffer.byteLength(line) <= 4_096 && Buffer.byteLength(line) > 2_000, `${Buffer.byteLength(line)} bytes`);
    assert.ok(line.includes("kept") && line.includes("y".repeat(300)) && line.includes("x…"));
  }
});

test("many fields, long lists and a long message are truncated to the line limit, in bytes and as JSON", () => {
  const many: readonly LogFields[] = [
    { texts: Array.from({ length: 60 }, () => "y".repeat(1_900)) },
    { wide: Array.from({ length: 60 }, () => "é".repeat(1_900)) },
    { escaped: "\u202e".repeat(2_000) },
    Object.fromEntries(Array.from({ length: 60 }, (_, at) => [`field${at}`, { a: "z".repeat(500), b: at }])),
    { error: new Error("e".repeat(5_000), { cause: new Error("c".repeat(5_000)) }) },
    { numbers: Array.from({ length: 64 }, () => Array.from({ length: 64 }, (_, at) => at)) },
  ];
  for (const fields of many) {
    for (const message of ["m", "é".repeat(3_000), "\u009b".repeat(3_000)]) {
      const { log, lines } = logInto({ level: "debug" });
      log.info(message, fields);
      assert.ok(Buffer.byteLength(lines[0] as string) <= 4_096);
      const line = JSON.parse(lines[0] as string);
      assert.equal(line.level, "info");
      assert.equal(line.message[0], message[0]);
    }
  }
});

test("a field that cannot be shortened enough is dropped with a note", () => {
  const { log, lines } = logInto();
  const name = (at: number): string => `${at}${"\u202e".repeat(99)}`;
  log.info(
    "names",
    Object.fromEntries(Array.from({ length: 60 }, (_, at) => [name(at), { [name(at)]: { [name(at)]: 1 } }])),
  );
  assert.ok(Buffer.byteLength(lines[0] as string) <= 4_096);
  assert.equal(JSON.parse(lines[0] as string).message, "names");
});

test("no text can start a second line or send a control character to a terminal", () => {
  const hostile = 'a\r\n2026 INFO forged\u001b[2J\u009b\u007f\u2028\u202e"=b';
  for (const isTerminal of [true, false]) {
    const { log, lines } = logInto({ isTerminal });
    log.info(hostile, { [hostile]: hostile, error: new Error(hostile) });
    assert.doesNotMatch((lines[0] as string).slice(0, -1), /[\u0000-\u001f\u007f-\u009f\u2028\u202e]/);
    if (!isTerminal) assert.equal(JSON.parse(lines[0] as string).message, hostile);
  }
});

test("for any fields each JSON line is single and valid", () => {
  fc.assert(
    fc.property(fc.string(), fc.dictionary(fc.string(), fc.anything()), (message, fields) => {
      const { log, lines } = logInto();
      log.info(message, fields);
      assert.equal(lines.length, 1);
      assert.match(lines[0] as string, /^[^\n]*\n$/);
      assert.ok(Buffer.byteLength(lines[0] as string) <= 4_096);
      assert.equal(JSON.parse(lines[0] as string).level, "info");
    }),
  );
});

test("lines that a reader does not take are dropped beyond a mebibyte, and the next one has their number", () => {
  const lines: string[] = [];
  const stream = { writableLength: 0, write: (text: string) => lines.push(text) };
  const log = createLogger({ stream, isTerminal: false, level: "info", now: () => NOW });
  log.info("first");
  stream.writableLength = (1 << 20) + 1;
  for (let line = 0; line < 3; line += 1) log.info("dropped");
  stream.writableLength = 0;
  log.info("next");
  log.info("last");
  const read = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
  assert.deepEqual(
    read.map(({ message, dropped_lines: count }) => [message, count]),
    [
      ["first", undefined],
      ["next", 3],
      ["last", undefined],
    ],
  );
});

test("a failing stream or clock does not reach the caller", () => {
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

test("the null log accepts everything and does nothing", () => {
  for (const level of ["debug", "info", "warn", "error"] as const) assert.equal(nullLog[level]("x"), undefined);
});
