/**
 * Any conversation of the compat dialect gives a request that a strict messages provider accepts, for any claims of the
 * channel; any other input gives that or a `RequestProblem`. A failure prints its seed.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { CLAIMABLE_NAMES } from "../../../../../src/server/core/dialects/fidelity/capabilities.ts";
import { usesOf } from "../../../../../src/server/core/dialects/fidelity/uses/uses.ts";
import { listOf, objectOf } from "../../../../../src/server/core/dialects/json/json-values.ts";
import { RequestProblem } from "../../../../../src/server/core/dialects/translate/types.ts";
import { assertIsMessages, GOLDENS, isAnswered, translate } from "./to-messages-request-support.ts";

const text = fc.constantFrom("", " ", "Hi", "A longer text. \n", "\ud83d");
const id = fc.constantFrom("call_1", "call_2", "functions.f:0", "functions_f_0", "é", "é_2", "__proto__");
const written = fc.constantFrom("", "{}", '{"a":1.0}', "[]", "null", "{oops", '{"__proto__":1}');
const mark = fc.constantFrom(undefined, { mode: "explicit" }, { mode: "explicit", ttl: "30m" });

const part = fc.oneof(
  fc.record({ type: fc.constant("text"), text, prompt_cache_breakpoint: mark }),
  fc.record({
    type: fc.constant("image_url"),
    image_url: fc.record({
      url: fc.constantFrom("https://a.example/b", "http://a.example/b", "data:image/png;base64,aGk=", "data:,x", ""),
    }),
    prompt_cache_breakpoint: mark,
  }),
  fc.record({
    type: fc.constant("file"),
    file: fc.record({
      file_data: fc.constantFrom(
        "data:application/pdf;base64,JV BE",
        "data:text/plain;base64,aGk=",
        "data:text/plain;base64,",
      ),
    }),
  }),
);
const content = fc.oneof(text, fc.array(part, { maxLength: 4 }));

const detail = fc.record({
  type: fc.constantFrom("reasoning.text", "reasoning.encrypted", "reasoning.summary"),
  text: fc.constantFrom(undefined, "hm"),
  signature: fc.constantFrom(undefined, "", "sig"),
  data: fc.constantFrom(undefined, "enc"),
  index: fc.constantFrom(undefined, 0, 1),
});

/** An assistant turn whose calls are answered in some order. */
const answer = fc
  .record({
    content: fc.oneof(
      fc.constant(null),
      text,
      fc.array(fc.record({ type: fc.constant("text"), text }), { maxLength: 3 }),
    ),
    calls: fc.uniqueArray(fc.record({ id, name: fc.constantFrom("f", "g"), arguments: written }), {
      selector: (call) => call.id,
      maxLength: 4,
    }),
    results: fc.array(fc.tuple(fc.nat(), content), { minLength: 4, maxLength: 4 }),
    reasoning_details: fc.array(detail, { maxLength: 3 }),
    reasoning_content: fc.constantFrom(undefined, "hm"),
  })
  .map(({ calls, results, ...message }) => [
    {
      role: "assistant",
      ...message,
      tool_calls: calls.map(({ id, ...called }) => ({ id, type: "function", function: called })),
    },
    ...calls
      .map((call, index) => ({ call, at: results[index]?.[0] ?? 0, content: results[index]?.[1] ?? "" }))
      .sort((one, other) => one.at - other.at)
      .map((result) => ({ role: "tool", tool_call_id: result.call.id, content: result.content })),
  ]);

const instruction = fc.record({ role: fc.constantFrom("system", "developer"), content: text });
const question = fc.record({ role: fc.constant("user"), content });
const turns = fc
  .array(
    fc.oneof(
      answer,
      question.map((message) => [message]),
      instruction.map((message) => [message]),
    ),
    { maxLength: 8 },
  )
  .map((messages) => messages.flat());

const functions = ["f", "g", "h"].map((name) => ({ type: "function", function: { name, strict: name === "f" } }));
const choice = fc.oneof(
  fc.constantFrom(undefined, null, "none", "auto", "required", "other"),
  fc.constantFrom("f", "g", "h").map((name) => ({ type: "function", function: { name } })),
  fc.record({
    type: fc.constant("allowed_tools"),
    allowed_tools: fc.record({ mode: fc.constantFrom("auto", "required"), tools: fc.subarray(functions) }),
  }),
);

const formats = [
  { type: "array", items: { type: "object", properties: { a: { type: "object" } } } },
  { type: "object", properties: { a: { anyOf: [{ type: "object", additionalProperties: {} }] } } },
  { type: "object", properties: {}, additionalProperties: false },
].map((schema) => ({ type: "json_schema", json_schema: { name: "n", schema } }));

/** The last message. */
const ends = fc.constantFrom(
  [{ role: "user", content: "So?" }],
  [
    { role: "user", content: "So?" },
    { role: "developer", content: "In short." },
  ],
  [
    { role: "user", content: "So?" },
    { role: "assistant", content: "So " },
    { role: "developer", content: "In short." },
    { role: "system", content: "In French." },
  ],
);

const request = fc.record({
  messages: fc.tuple(turns, ends).map(([messages, end]) => [...messages, ...end]),
  tools: fc.constant(functions),
  tool_choice: choice,
  parallel_tool_calls: fc.constantFrom(undefined, true, false),
  max_tokens: fc.constantFrom(undefined, null, 1, 2000),
  reasoning_effort: fc.constantFrom(undefined, null, "none", "minimal", "max"),
  thinking: fc.constantFrom(undefined, null, { type: "enabled", budget_tokens: 5 }, { type: "adaptive" }),
  reasoning: fc.constantFrom(undefined, { max_tokens: 12_000 }, { enabled: true }),
  temperature: fc.constantFrom(undefined, 0, 1, 2),
  top_p: fc.constantFrom(undefined, 0.5, 0.97, 1),
  top_k: fc.constantFrom(undefined, -1, 40),
  response_format: fc.constantFrom(undefined, ...formats),
  stop: fc.constantFrom(undefined, "\n", ["\n", "x"]),
  web_search_options: fc.constantFrom(undefined, {}),
});

/** A random subset lacks about half, which hides combined parts of a request, so some subsets lack little. */
const lacks = fc.oneof(fc.subarray([...CLAIMABLE_NAMES]), fc.subarray([...CLAIMABLE_NAMES], { maxLength: 2 }));

test("any conversation gives a valid request in which each call is answered", () => {
  fc.assert(
    fc.property(request, lacks, (input, names) => {
      const { body } = translate(input, { lacks: names });
      assertIsMessages(body);
      assert.ok(isAnswered(body));
    }),
    { numRuns: 500 },
  );
});

const USER = { role: "user", content: "Hi" };
const CALLS = [{ id: "a", type: "function", function: { name: "f", arguments: "{}" } }];
const histories = fc.constantFrom(
  [USER],
  [USER, { role: "assistant", content: "So " }],
  ...[undefined, [{ type: "reasoning.text", text: "hm", signature: "sig" }]].map((reasoning_details) => [
    USER,
    { role: "assistant", tool_calls: CALLS, reasoning_details },
    { role: "tool", tool_call_id: "a", content: "1" },
  ]),
);

test("everything that the guard does not name arrives", () => {
  fc.assert(
    fc.property(request, histories, (settings, messages) => {
      const input = { ...settings, messages };
      const { capabilities, untranslatable } = usesOf("chat", input, "messages");
      const { body } = translate(input);
      const { temperature, top_p, top_k } = input;
      if (!untranslatable.has("sampling")) {
        assert.equal(body["temperature"], temperature === 1 ? undefined : temperature && Math.min(temperature, 1));
        assert.equal(body["top_p"], top_p === 1 ? undefined : top_p);
      }
      if (!untranslatable.has("top_k")) assert.equal(body["top_k"], top_k === -1 ? undefined : top_k);
      if (!untranslatable.has("json_schema")) {
        assert.equal("format" in (objectOf(body["output_config"]) ?? {}), input.response_format !== undefined);
      }
      // A request that switches thinking both off and on is ambiguous.
      const isClear = input.reasoning_effort !== "none" || input.reasoning === undefined;
      if (isClear && !untranslatable.has("thinking_budget") && !capabilities.has("thinking_forced_tool")) {
        const { type = "disabled" } = objectOf(body["thinking"]) ?? {};
        assert.equal(type !== "disabled", capabilities.has("thinking"));
      }
    }),
    { numRuns: 500 },
  );
});

test("the texts of a history arrive in order", () => {
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.boolean(), fc.array(fc.stringMatching(/^[a-z]{1,8}$/), { minLength: 1 })), { minLength: 1 }),
      (result) => {
        const messages = result.map(([isUser, texts]) => ({
          role: isUser ? "user" : "assistant",
          content: texts.map((text) => ({ type: "text", text })),
        }));
        const arrived = listOf(translate({ messages }).body["messages"]).flatMap((turn) => {
          const { role, content } = objectOf(turn) ?? {};
          const texts =
            typeof content === "string" ? [content] : listOf(content).map((block) => objectOf(block)?.["text"]);
          return texts.map((text) => [role, text]);
        });
        assert.deepEqual(
          arrived,
          messages.flatMap(({ role, content }) => content.map(({ text }) => [role, text])),
        );
      },
    ),
  );
});

test("valid ids are kept, and no two calls share one", () => {
  fc.assert(
    fc.property(fc.uniqueArray(fc.oneof(id, fc.string({ minLength: 1 })), { minLength: 1 }), (ids) => {
      const tool_calls = ids.map((id) => ({ id, type: "function", function: { name: "f", arguments: "{}" } }));
      const results = ids.map((id) => ({ role: "tool", tool_call_id: id, content: "1" }));
      const { body } = translate({
        messages: [{ role: "user", content: "Hi" }, { role: "assistant", tool_calls }, ...results],
      });
      assert.ok(isAnswered(body));
      const made = listOf(objectOf(listOf(body["messages"])[1])?.["content"]).map((block) => objectOf(block)?.["id"]);
      assert.equal(new Set(made).size, ids.length);
      for (const [index, id] of ids.entries()) if (/^[A-Za-z0-9_-]+$/.test(id)) assert.equal(made[index], id);
    }),
  );
});

/** Returns `value` with the part at `at` replaced. */
function replaced(value: unknown, at: readonly number[], by: unknown): unknown {
  const [first, ...rest] = at;
  if (first === undefined || typeof value !== "object" || value === null) return by;
  const names = Object.keys(value);
  const name = names[first % Math.max(1, names.length)];
  if (name === undefined) return by;
  if (Array.isArray(value))
    return value.map((item, index) => (String(index) === name ? replaced(item, rest, by) : item));
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => [key, key === name ? replaced(member, rest, by) : member]),
  );
}

test("any value in place of any part gives a valid request or a problem of the request", () => {
  const input = GOLDENS.flatMap(([, cases]) => cases.map((golden) => golden.given));
  let translated = 0;
  fc.assert(
    fc.property(
      fc.constantFrom(...input),
      fc.array(fc.nat(), { minLength: 1, maxLength: 8 }),
      fc.jsonValue(),
      lacks,
      (whole, at, by, names) => {
        const changed = replaced(whole, at, by);
        try {
          assertIsMessages(translate(changed, { lacks: names }).body);
          translated++;
        } catch (error) {
          if (!(error instanceof RequestProblem)) throw error;
        }
      },
    ),
    { numRuns: 3000 },
  );
  assert.ok(translated > 0);
});
