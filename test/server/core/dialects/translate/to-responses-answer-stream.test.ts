/** Streams of both kinds of provider for clients of responses: the transcripts of the reference, cut anywhere. */
import assert from "node:assert/strict";
import test from "node:test";
import {
  bytesOf,
  eventsOf,
  responseOf,
  SEALED,
  type Sent,
  SOURCES,
  sealing,
  TRANSCRIPTS,
  termsOf,
  translate,
} from "./to-responses-answer-support.ts";

/** `call_id`s are the provider's own. */
const withoutCallIds = (value: unknown): unknown =>
  JSON.parse(JSON.stringify(value), (name, member) => (name === "call_id" ? "id" : member));

for (const { row, events, chatEvents = events, ...given } of TRANSCRIPTS) {
  for (const from of SOURCES) {
    const bytes = bytesOf(given[from]);

    test(`from ${from}: ${row}`, () => {
      const { frames, problem, state } = translate(from, [bytes], termsOf());
      assert.equal(problem, undefined);
      assert.equal(state, row.startsWith("error") ? "failed" : "ended");
      const expected = from === "chat" ? chatEvents : events;
      // The transcript of a failure from chat has only the difference.
      const before = expected === events ? [] : events.slice(0, -expected.length);
      assert.deepEqual(withoutCallIds(eventsOf(frames)), withoutCallIds([...before, ...expected]));
      assert.ok(responseOf(frames));
    });

    test(`from ${from}: ${row}: a cut at any byte gives the same result`, () => {
      const whole = translate(from, [bytes], termsOf());
      for (let at = 0; at <= bytes.length; at++) {
        assert.deepEqual(translate(from, [bytes.subarray(0, at), bytes.subarray(at)], termsOf()), whole, `at ${at}`);
      }
      const single = Array.from(bytes, (_, at) => bytes.subarray(at, at + 1));
      assert.deepEqual(translate(from, single, termsOf()), whole, "byte by byte");
    });

    test(`from ${from}: ${row}: cut off between any two events it fails and is never complete`, () => {
      for (let count = 0; count < given[from].length; count++) {
        const sent = given[from].slice(0, count);
        const { frames, problem, state, failure } = translate(from, [bytesOf(sent)], termsOf());
        if (sent.some(tellsEnd)) continue;
        assert.equal(state, "open");
        assert.ok(problem);
        const response = responseOf(frames + failure) ?? assert.fail();
        assert.equal(response["status"], "failed");
        assert.deepEqual(response["error"], { code: "upstream_incomplete", message: "It broke off." });
        assert.equal(response["usage"], null);
      }
    });
  }
}

/** A finish reason in a chunk is an end: some providers send nothing after it. */
function tellsEnd(sent: Sent): boolean {
  return /"finish_reason":"|"type":"(?:message_stop|error)"|"error":\{|\[DONE\]/.test(
    typeof sent === "string" ? sent : JSON.stringify(sent),
  );
}

test("reasoning that the provider needs back is sealed, and nothing else", () => {
  const { messages, chat } = TRANSCRIPTS.find(({ row }) => row.startsWith("reason")) ?? assert.fail();
  for (const [from, given, block] of [
    ["messages", messages, { k: "t", x: "I need the weather.", s: "EqQBsig==" }],
    ["chat", chat, { k: "c", x: "I need the weather." }],
  ] as const) {
    const seal = sealing();
    translate(from, [bytesOf(given)], termsOf({ seal }));
    assert.deepEqual(seal.sealed, [[block]]);
  }
});

test("each item is sent once it is complete, in its final form", () => {
  for (const { messages, chat } of TRANSCRIPTS) {
    for (const [from, given] of [
      ["messages", messages],
      ["chat", chat],
    ] as const) {
      const reported: [string, string][] = [];
      const stamp = { created: 1, seed: "01", remember: (id: string, item: string) => void reported.push([id, item]) };
      const { frames } = translate(from, [bytesOf(given)], termsOf(), stamp);
      const output = responseOf(frames)?.["output"] as readonly { readonly id: string }[];
      assert.deepEqual(
        reported.map(([id, item]) => [id, JSON.parse(item)]),
        output.map((item) => [item.id, item]),
      );
    }
  }
});

test("an unrequested summary is not shown, and the reasoning is sealed anyway", () => {
  const { messages, chat } = TRANSCRIPTS.find(({ row }) => row.startsWith("reason")) ?? assert.fail();
  for (const [from, given] of [
    ["messages", messages],
    ["chat", chat],
  ] as const) {
    const seal = sealing();
    const { frames } = translate(from, [bytesOf(given)], termsOf({ showsSummary: false, seal }));
    assert.equal(seal.sealed.length, 1);
    assert.doesNotMatch(frames, /summary_text|I need/);
    assert.match(frames, /^: ping$/m);
    const [reasoning] = (responseOf(frames)?.["output"] ?? []) as readonly unknown[];
    assert.deepEqual(reasoning, { id: "rs_01_0", type: "reasoning", summary: [], encrypted_content: SEALED });
  }
});
