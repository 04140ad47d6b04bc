/** Streams of compat providers for messages clients, case by case of the reference, and cut at every byte. */
import assert from "node:assert/strict";
import test from "node:test";
import {
  bytesOf,
  messageOf,
  REWRITES,
  readGolden,
  type StreamCase,
  termsOf,
  traceOf,
  translate,
  writeGolden,
} from "./to-messages-answer-support.ts";

for (const name of ["streams.json", "deviations.json", "broken.json"]) {
  const cases = readGolden<StreamCase>(name);
  for (const { row, terms, given, expect } of cases) {
    const bytes = bytesOf(given);
    const whole = translate([bytes], termsOf(terms));

    if (!REWRITES) {
      test(`${name}: ${row}`, () => {
        assert.deepEqual(traceOf(whole), expect);
        const hasEnded = messageOf(whole.frames) !== undefined;
        assert.equal(hasEnded, whole.state === "ended", "the end is reported if there is one");
      });
    }

    test(`${name}: ${row}: a cut at any byte gives the same result`, () => {
      for (let at = 0; at <= bytes.length; at++) {
        assert.deepEqual(translate([bytes.subarray(0, at), bytes.subarray(at)], termsOf(terms)), whole, `at ${at}`);
      }
      const single = Array.from(bytes, (_, at) => bytes.subarray(at, at + 1));
      assert.deepEqual(translate(single, termsOf(terms)), whole, "byte by byte");
    });
  }
  if (REWRITES) {
    writeGolden(
      name,
      cases.map((each) => ({ ...each, expect: traceOf(translate([bytesOf(each.given)], termsOf(each.terms))) })),
    );
  }
}

test("a stream begins with an estimated input count and ends with the provider's counts, which never decrease", () => {
  const chunks = [
    { choices: [{ index: 0, delta: { content: "Hi" } }], usage: { prompt_tokens: 10, completion_tokens: 7 } },
    { choices: [{ index: 0, delta: {}, finish_reason: "stop" }], usage: { prompt_tokens: 9, completion_tokens: 0 } },
  ];
  const text = chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join("");
  const { frames } = translate([Buffer.from(`${text}data: [DONE]\n\n`)], {
    ...termsOf(undefined),
    inputEstimate: () => 42,
  });
  const counts = [...String(frames).matchAll(/"(input_tokens|output_tokens)":(\d+)/g)].map(([, name, n]) => [name, n]);
  assert.deepEqual(counts, [
    ["input_tokens", "42"],
    ["output_tokens", "0"],
    ["input_tokens", "10"],
    ["output_tokens", "7"],
  ]);
});

test("a named event with text keeps the connection alive, and text without a name is a problem", () => {
  const events = [
    ["ping", "ping", undefined],
    ["heartbeat", "still here", undefined],
    ["status", "[]", undefined],
    ["", "still here", "an event of the stream is not a JSON object"],
    ["message", "still here", "an event of the stream is not a JSON object"],
  ] as const;
  for (const [name, data, problem] of events) {
    const chunk = `data: {"choices":[{"index":0,"delta":{"content":"Hi"},"finish_reason":"stop"}]}\n\n`;
    const event = `${name === "" ? "" : `event: ${name}\n`}data: ${data}\n\n`;
    const found = translate([Buffer.from(`${event}${chunk}${event}data: [DONE]\n\n`)], termsOf(undefined));
    assert.equal(found.problem, problem, `${name}: ${data}`);
    assert.equal(messageOf(found.frames) !== undefined, problem === undefined);
  }
});
