/** Events passed on without parsing equal parsed ones. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  type AnswerEdits,
  createStreamUsage,
  editEvent,
  editWithoutParsing,
  hasNoUsage,
  SseSplitter,
} from "../../../../src/server/core/dialects/index.ts";
import { randomFloor } from "../../../support/random-length.ts";

const HIDING: AnswerEdits = { model: undefined, hidesUsage: true };
const event = (data: unknown): string => `data: ${typeof data === "string" ? data : JSON.stringify(data)}\n\n`;

function read(chunk: Buffer, edits: AnswerEdits): Buffer {
  const splitter = new SseSplitter();
  const events = splitter.push(chunk).map((one) => editEvent(one, edits) ?? Buffer.alloc(0));
  return Buffer.concat([...events, splitter.takeRest()]);
}

const choices = [{ index: 0, delta: { content: 'says "usage":null}' } }];
const USUAL: readonly (readonly [what: string, chunk: string])[] = [
  ["a delta without usage", event({ id: "1", choices })],
  ["a delta with a null usage at the end", event({ id: "1", choices, usage: null })],
  ["a padded delta", event({ id: "1", choices, usage: null, obfuscation: "aX9" })],
  ["several deltas in one chunk", event({ id: "1", choices, usage: null }) + event({ id: "1", choices })],
  ["a comment", ": still here\n\n"],
];

for (const [what, text] of USUAL) {
  test(`${what} is passed on without parsing, with the same result`, () => {
    const chunk = Buffer.from(text);
    assert.deepEqual(String(editWithoutParsing(chunk, HIDING)), String(read(chunk, HIDING)));
    assert.ok(hasNoUsage(chunk));
  });
}

test("a chunk that has usage, ends the stream or ends inside an event is parsed", () => {
  const usage = { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 };
  for (const text of [event({ id: "1", choices: [], usage }), event("[DONE]"), event({ choices }).slice(0, -1)]) {
    assert.equal(hasNoUsage(Buffer.from(text)), false, text);
  }
  assert.equal(editWithoutParsing(Buffer.from(event({ id: "1", choices: [], usage })), HIDING), undefined);
  assert.equal(editWithoutParsing(Buffer.from(event({ usage: null, id: "1" })), HIDING), undefined);
  assert.equal(
    editWithoutParsing(Buffer.from(event({ id: "1", nested: { a: 1, usage: null }, b: 1 })), HIDING),
    undefined,
  );
  assert.equal(
    editWithoutParsing(Buffer.from(event({ id: "1" })), { model: { upstream: '"a"', shown: '"b"' }, hidesUsage: true }),
    undefined,
  );
});

const member = fc.oneof(
  fc.record({ content: fc.string({ unit: "binary" }) }),
  fc.constantFrom(null, { usage: null }, { a: 1, usage: null }, 'x","usage":null}', [1, { usage: null }], 7),
);
const data = fc.oneof(
  fc.record(
    { id: fc.string(), choices: member, usage: fc.constantFrom(null, { total_tokens: 1 }) },
    { requiredKeys: [] },
  ),
  fc.record({ choices: member, usage: fc.constant(null), obfuscation: fc.string() }),
  fc.record({ nested: fc.record({ a: member, usage: fc.constant(null) }) }),
);

test("passing on without parsing gives the parsed result, and no usage is missed", () => {
  let unread = 0;
  fc.assert(
    fc.property(
      fc.array(fc.oneof(data.map(event), fc.constantFrom(event("[DONE]"), ": c\n\n", "event: delta\n", "id: 7\n")), {
        maxLength: 4,
      }),
      (events) => {
        const chunk = Buffer.from(events.join(""));
        const edited = editWithoutParsing(chunk, HIDING);
        if (edited !== undefined) {
          unread++;
          // A chunk without an event end inside a text is cut the same way by the splitter.
          assert.equal(edited.toString("latin1"), read(chunk, HIDING).toString("latin1"));
        }
        if (!hasNoUsage(chunk)) return;
        const usage = createStreamUsage("compat", "chat_completions");
        for (const one of new SseSplitter().push(chunk)) if (one.data !== undefined) usage.read(one.data);
        assert.equal(usage.usage, undefined);
      },
    ),
    { numRuns: 3_000 },
  );
  assert.ok(unread > randomFloor(500), `${unread} were passed on unread`);
});
