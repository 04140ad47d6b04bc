/** Texts of a whole answer, read and written again: only changes are rewritten. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { type Dialect, readAnswerTexts } from "../../../../../src/server/core/dialects/index.ts";

const read = (route: string, body: string, dialect: Dialect = "compat") =>
  readAnswerTexts(route, dialect, Buffer.from(body));
const textsOf = (route: string, body: string, dialect: Dialect = "compat"): readonly string[] =>
  read(route, body, dialect).texts.map(({ text }) => text);

/** Returns the answer with every `SECRET` hidden. */
function hidden(route: string, body: string, dialect: Dialect = "compat"): string {
  const answer = read(route, body, dialect);
  return answer.rewrite(answer.texts.map(({ text }) => text.replaceAll("SECRET", "[x]"))).toString();
}

const CHAT =
  '{ "id":"c1", "model":"m", "choices":[ {"index":0,"message":{"role":"assistant","content":"a SECRET \\u00e9",' +
  '"reasoning_content":"why","refusal":null,"tool_calls":[{"id":"t1","type":"function","function":{"name":"f",' +
  '"arguments":"{\\"a\\": 1.0, \\"b\\":[\\"SECRET \\\\n\\", \\"\\\\u0041\\"]}"}}]},' +
  '"logprobs":{"content":[{"token":"SECRET"}]},"finish_reason":"stop"},' +
  '{"index":1,"message":{"content":[{"type":"text","text":"two"}]},"logprobs":null}],"usage":{"total_tokens":3} }\n';

test("a chat answer has texts, thinking and string values of arguments; token lists of a changed choice are dropped", () => {
  assert.deepEqual(textsOf("chat_completions", CHAT), ["a SECRET é", "why", "SECRET \n", "A", "two"]);
  assert.equal(
    hidden("chat_completions", CHAT),
    CHAT.replace('"a SECRET \\u00e9"', '"a [x] é"')
      .replace('"arguments":"{\\"a\\": 1.0, \\"b\\":[\\"SECRET', '"arguments":"{\\"a\\": 1.0, \\"b\\":[\\"[x]')
      .replace('{"content":[{"token":"SECRET"}]}', '{"content":[{"token":"SECRET"}]}')
      .replace('"logprobs":{"content":[{"token":"SECRET"}]}', '"logprobs":null'),
  );
});

const TABLE: readonly (readonly [
  what: string,
  route: string,
  dialect: Dialect,
  body: string,
  texts: readonly string[],
])[] = [
  [
    "arguments that are not JSON",
    "chat_completions",
    "compat",
    '{"choices":[{"message":{"tool_calls":[{"function":{"arguments":"rm SECRET"}}]}}]}',
    ["rm SECRET"],
  ],
  [
    "a duplicate name",
    "chat_completions",
    "compat",
    '{"choices":[{"message":{"content":"one","con\\u0074ent":"two"}}]}',
    ["one", "two"],
  ],
  [
    "completions",
    "completions",
    "compat",
    '{"choices":[{"text":"one","index":0},{"text":"two","index":1}]}',
    ["one", "two"],
  ],
  [
    "thinking of choices",
    "chat_completions",
    "compat",
    '{"choices":[{"message":{"reasoning_details":[{"type":"reasoning.text","text":"t","signature":"s"},{"type":"reasoning.encrypted","data":"AAAA"}]}}]}',
    ["t"],
  ],
  [
    "messages",
    "messages",
    "messages",
    '{"type":"message","role":"assistant","content":[{"type":"thinking","thinking":"t","signature":"s"},{"type":"redacted_thinking","data":"AA"},{"type":"text","text":"x"},{"type":"tool_use","id":"i","name":"n","input":{"id":"in id","deep":[{"name":"in name"}]}},{"type":"new_block","words":"new"}]}',
    ["t", "x", "in id", "in name", "new"],
  ],
  [
    "responses",
    "responses",
    "compat",
    '{"object":"response","instructions":"mine","output":[{"type":"reasoning","id":"r","summary":[{"type":"summary_text","text":"s"}],"encrypted_content":"E"},{"type":"message","content":[{"type":"output_text","text":"o","annotations":[],"logprobs":[]},{"type":"refusal","refusal":"no"}]},{"type":"function_call","name":"f","arguments":"{\\"k\\":\\"v\\"}"},{"type":"custom_tool_call","name":"p","input":"patch"}]}',
    ["s", "o", "no", "v", "patch"],
  ],
  [
    "an error",
    "chat_completions",
    "compat",
    '{"error":{"message":"told","type":"t","code":"c","param":null}}',
    ["told"],
  ],
  ["an unknown route", "rerank", "compat", '{"id":"i","results":[{"document":{"text":"d"}}]}', ["i", "d"]],
  ["lines of JSON", "message_batches", "messages", '{"a":"one"}\n{"a":"two"}\n', ["one", "two"]],
  ["plain text", "audio_transcriptions", "compat", "SECRET words", ["SECRET words"]],
  [
    "JSON after a byte order mark",
    "chat_completions",
    "compat",
    '\ufeff{"choices":[{"message":{"content":"SECRET"}}]}',
    ["SECRET"],
  ],
];

for (const [what, route, dialect, body, texts] of TABLE) {
  test(`the texts of ${what} are found`, () => {
    assert.deepEqual(textsOf(route, body, dialect), texts);
    assert.equal(hidden(route, body, dialect), body.replaceAll("SECRET", "[x]"));
    const answer = read(route, body, dialect);
    const changed = answer.rewrite(answer.texts.map(({ text }) => `${text}\n"😀`));
    assert.deepEqual(
      textsOf(route, changed.toString(), dialect),
      texts.map((text) => `${text}\n"😀`),
    );
  });
}

test("a rewritten thought loses its signature, and no other does", () => {
  const body =
    '{"content":[{"type":"thinking","thinking":"a SECRET","signature":"s1"},{"type":"thinking","thinking":"b","signature":"s2"}]}';
  assert.equal(hidden("messages", body, "messages"), body.replace("SECRET", "[x]").replace('"s1"', '""'));
});

test("non-text content is counted", () => {
  assert.deepEqual(read("images_generations", '{"data":[{"b64_json":"AAAA"}]}').uninspected, ["image"]);
  assert.deepEqual(readAnswerTexts("audio_speech", "compat", Buffer.from([0xff, 0xfb, 0x90])).uninspected, ["file"]);
});

test("an answer nested too deeply is read as plain text", () => {
  const body = `${"[".repeat(600)}"SECRET"${"]".repeat(600)}`;
  assert.deepEqual(textsOf("rerank", body), [body]);
});

test("any JSON keeps its bytes while nothing changes, and its values if all strings change", () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.nat(2), (value, indent) => {
      const body = Buffer.from(JSON.stringify(value, undefined, indent));
      const answer = readAnswerTexts("rerank", "compat", body);
      assert.equal(answer.rewrite(answer.texts.map(({ text }) => text)), body);
      const back = answer.rewrite(answer.texts.map(({ text }) => `${text}!`));
      const again = readAnswerTexts("rerank", "compat", back);
      if (typeof value === "object")
        assert.ok(
          again.rewrite(again.texts.map(({ text }) => text.slice(0, -1))).equals(Buffer.from(body)) ||
            body.includes("\\"),
        );
    }),
  );
});
