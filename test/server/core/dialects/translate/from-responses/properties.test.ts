/**
 * Any list of items, in any order, gives a conversation that either target accepts with all of its texts; any other
 * input gives that or a `RequestProblem`. A failure prints its seed.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { CLAIMABLE_NAMES } from "../../../../../../src/server/core/dialects/fidelity/capabilities.ts";
import { listOf, objectOf, type Values } from "../../../../../../src/server/core/dialects/json/json-values.ts";
import { RequestProblem } from "../../../../../../src/server/core/dialects/translate/types.ts";
import { randomFloor, randomRuns } from "../../../../../support/random-length.ts";
import { guarded, TARGETS, type Target, translate } from "./support.ts";

const callId = fc.constantFrom("call_1", "call_2", "exec:0", "exec_0", "é", "__proto__");
const toolName = fc.constantFrom("f", "g", "apply_patch");
const namespace = fc.constantFrom(undefined, undefined, "mcp__fs", "a b");
const written = fc.constantFrom("", "{}", '{"a":1.0}', "[]", "{oops", '{"__proto__":1}');
const sealed = fc.constantFrom("gwr1.k1.SEALED", "gwr1.k1.EMPTY", "gAAAA-foreign", null);

/** Every text gets a number once the list is known. */
const FINAL_TEXT = "said";
const text = fc.constantFrom(FINAL_TEXT, FINAL_TEXT, "", " ");
const part = fc.oneof(
  text.map((it) => ({ type: "input_text", text: it })),
  fc
    .constantFrom("https://a.example/b", "http://a.example/b", "data:image/png;base64,aGk=", "data:,x", "")
    .map((image_url) => ({ type: "input_image", image_url, detail: "auto" })),
  fc
    .constantFrom("data:application/pdf;base64,JV BE", "JVBERi0x", "data:text/plain;base64,aGk=", "zzz")
    .map((file_data) => ({ type: "input_file", file_data, filename: "a.bin" })),
);
const content = fc.oneof(text, fc.array(part, { maxLength: 3 }));

const user = content.map((it): Values => ({ role: "user", content: it }));
const instruction = fc.record({
  type: fc.constant("message"),
  role: fc.constantFrom("system", "developer"),
  content: text,
});
const assistant = fc.oneof(
  text.map((it): Values => ({ role: "assistant", content: it })),
  text.map((it): Values => ({ role: "assistant", content: [{ type: "output_text", text: it, annotations: [] }] })),
  fc.constant<Values>({ role: "assistant", content: [{ type: "refusal", refusal: FINAL_TEXT }] }),
);
const call = fc.record({
  type: fc.constant("function_call"),
  call_id: callId,
  name: toolName,
  namespace,
  arguments: written,
});
const custom = fc.record({ type: fc.constant("custom_tool_call"), call_id: callId, name: toolName, input: text });
const output = fc.record({
  type: fc.constantFrom("function_call_output", "custom_tool_call_output"),
  call_id: callId,
  output: content,
});
const reasoning = fc.record({
  type: fc.constant("reasoning"),
  id: fc.constant("rs_1"),
  summary: fc.constant([]),
  encrypted_content: sealed,
});
const hosted = fc.constantFrom<Values>(
  { type: "web_search_call", status: "completed" },
  { type: "image_generation_call", result: "aGk=" },
  { type: "item_reference", id: "rs_9" },
  { type: "mcp_list_tools", tools: [] },
);
const items = fc.array(
  fc.oneof(
    { arbitrary: user, weight: 3 },
    instruction,
    { arbitrary: assistant, weight: 2 },
    { arbitrary: call, weight: 3 },
    custom,
    { arbitrary: output, weight: 4 },
    { arbitrary: reasoning, weight: 2 },
    hosted,
  ),
  { maxLength: 14 },
);

const tools = [
  { type: "function", name: "f", parameters: { type: "object", properties: {} } },
  { type: "function", name: "g", strict: true, parameters: null },
  { type: "custom", name: "apply_patch", format: { type: "grammar", syntax: "lark", definition: "start: x" } },
  {
    type: "namespace",
    name: "mcp__fs",
    tools: [
      { type: "function", name: "f" },
      { type: "custom", name: "patch" },
    ],
  },
  { type: "web_search" },
];
const choice = fc.constantFrom<unknown>(
  undefined,
  "auto",
  "none",
  "required",
  { type: "function", name: "f" },
  { type: "custom", name: "patch" },
  { type: "allowed_tools", mode: "required", tools: [{ type: "function", name: "g" }, { type: "web_search" }] },
);

/** Adds a number to each text, so that it is unique. */
function numbered(list: readonly unknown[]): { readonly input: readonly unknown[]; readonly texts: readonly string[] } {
  const reported: string[] = [];
  const input = JSON.parse(JSON.stringify(list), (_, value: unknown) => {
    if (value !== FINAL_TEXT) return value;
    reported.push(`${FINAL_TEXT}-${reported.length}-`);
    return reported.at(-1);
  }) as readonly unknown[];
  return { input, texts: reported };
}

/** Returns `{ body }`, or `undefined` if the request is refused as invalid. */
function attempt(target: Target, request: unknown, lacks: readonly string[] = []) {
  try {
    return translate(target, request, { lacks });
  } catch (error) {
    assert.ok(error instanceof RequestProblem, String(error));
    return undefined;
  }
}

const blocksOf = (turn: unknown): readonly Values[] => {
  const { content: found } = objectOf(turn) ?? {};
  return typeof found === "string"
    ? [{ type: "text", text: found }]
    : listOf(found).map((block) => objectOf(block) ?? {});
};
const NAME = /^[A-Za-z0-9_-]+$/;

function assertIsMessages(body: Values): void {
  const turns = listOf(body["messages"]).map((turn) => objectOf(turn) ?? {});
  assert.ok(turns.length > 0);
  for (const [index, turn] of turns.entries()) {
    assert.notEqual(turn["role"], turns[index - 1]?.["role"], "roles alternate");
    const blocks = blocksOf(turn);
    assert.ok(blocks.length > 0, "a turn is not empty");
    const types = blocks.map(({ type }) => type);
    const firstOther = types.findIndex((type) => type !== "tool_result");
    assert.ok(turn["role"] === "user" || !types.includes("tool_result"));
    if (firstOther >= 0) assert.ok(!types.slice(firstOther).includes("tool_result"), "results come first");
    const firstCall = types.indexOf("tool_use");
    if (firstCall >= 0)
      assert.ok(
        types.slice(firstCall).every((type) => type === "tool_use"),
        "calls come last",
      );
    for (const block of blocks) assertIsBlock(block);
    if (turn["role"] === "assistant") assert.ok(types.some((type) => type === "text" || type === "tool_use"));
  }
}

function assertIsBlock({ type, text: found, name, id, input, tool_use_id, signature, data }: Values): void {
  if (type === "text") assert.match(String(found), /\S/);
  if (type === "tool_use") {
    assert.match(String(name), NAME);
    assert.match(String(id), NAME);
    assert.ok(objectOf(input));
  }
  if (type === "tool_result") assert.match(String(tool_use_id), NAME);
  if (type === "thinking") assert.ok(signature);
  if (type === "redacted_thinking") assert.ok(data);
}

function assertIsChat(body: Values): void {
  const messages = listOf(body["messages"]).map((message) => objectOf(message) ?? {});
  assert.ok(messages.length > 0);
  for (const message of messages) {
    assert.ok(message["content"] !== "" || message["role"] === "tool", "a message is not empty");
    for (const called of listOf(message["tool_calls"])) {
      const { id, function: of } = objectOf(called) ?? {};
      assert.ok(typeof id === "string" && id !== "");
      assert.match(String(objectOf(of)?.["name"]), NAME);
    }
  }
}

/** Whether each call has one output and each output a call, by pairing them in order. */
function isPaired(input: readonly unknown[]): boolean {
  const waiting = new Map<string, number>();
  for (const item of input) {
    const { type, call_id } = objectOf(item) ?? {};
    const key = String(call_id);
    const count = waiting.get(key) ?? 0;
    if (type === "function_call" || type === "custom_tool_call") waiting.set(key, count + 1);
    else if (call_id !== undefined) {
      if (count === 0) return false;
      waiting.set(key, count - 1);
    }
  }
  return [...waiting.values()].every((count) => count === 0);
}

function assertIsAnswered(target: Target, body: Values): void {
  let open: string[] = [];
  for (const turn of listOf(body["messages"]).map((it) => objectOf(it) ?? {})) {
    if (target === "messages") {
      const blocks = blocksOf(turn);
      if (turn["role"] === "system") continue;
      const results = blocks.filter(({ type }) => type === "tool_result").map((it) => String(it["tool_use_id"]));
      assert.deepEqual(results, open, "results answer the calls before them, in their order");
      open = blocks.filter(({ type }) => type === "tool_use").map(({ id }) => String(id));
    } else if (turn["role"] === "tool") assert.equal(turn["tool_call_id"], open.shift(), "in the order of the calls");
    else {
      assert.deepEqual(open, [], "nothing stands between a call and its output");
      open = listOf(turn["tool_calls"]).map((it) => String(objectOf(it)?.["id"]));
    }
  }
  assert.deepEqual(open, []);
}

const lackable = fc.subarray([...CLAIMABLE_NAMES], { maxLength: 6 });

for (const target of TARGETS) {
  test(`items in any order become a conversation for ${target}`, () => {
    fc.assert(
      fc.property(items, choice, lackable, (list, tool_choice, lacks) => {
        const { input } = numbered(list);
        const made = attempt(target, { input, tools, tool_choice, reasoning: { effort: "low" } }, lacks);
        if (made === undefined) return;
        if (target === "messages") assertIsMessages(made.body);
        else assertIsChat(made.body);
        assert.ok(made.lost.every(({ isHard }) => !isHard));
      }),
      { numRuns: 600, verbose: 1 },
    );
  });

  test(`calls with outputs are answered immediately for ${target}, wherever the outputs were`, () => {
    let paired = 0;
    fc.assert(
      fc.property(
        fc.array(fc.oneof(user, assistant, reasoning), { maxLength: 6 }),
        fc.array(call, { maxLength: 4 }),
        fc.infiniteStream(fc.nat(30)),
        (others, calls, places) => {
          const list: unknown[] = [...others, { role: "user", content: FINAL_TEXT }];
          for (const made of calls) {
            const at = Number(places.next().value) % (list.length + 1);
            list.splice(at, 0, made);
            const rest = list.length - at;
            list.splice(at + 1 + (Number(places.next().value) % rest), 0, {
              type: "function_call_output",
              call_id: made.call_id,
              output: "done",
            });
          }
          if (!isPaired(list)) return;
          paired += 1;
          const made = attempt(target, { input: numbered(list).input, tools });
          assert.ok(made !== undefined);
          assertIsAnswered(target, made.body);
        },
      ),
      { numRuns: 400, verbose: 1 },
    );
    assert.ok(paired > randomFloor(200), `${paired} of ${randomRuns(400)}`);
  });

  test(`every text arrives at ${target} exactly once`, () => {
    fc.assert(
      fc.property(items, (list) => {
        const { input, texts } = numbered([...list, { role: "user", content: FINAL_TEXT }]);
        const made = attempt(target, { input, tools });
        if (made === undefined) return;
        const body = JSON.stringify(made.body);
        for (const value of texts) assert.equal(body.split(value).length, 2, value);
        const names = new Set(guarded(target, { input, tools }).map(({ capability }) => capability));
        const inline = JSON.stringify(input).includes('"data:image/png') && !names.has("vision");
        if (inline) assert.ok(body.includes("aGk="));
      }),
      { numRuns: 400, verbose: 1 },
    );
  });

  test(`any JSON in place of a request is translated for ${target} or is the client's error`, () => {
    const word = fc.constantFrom(
      ...[
        "input",
        "type",
        "role",
        "content",
        "tools",
        "name",
        "message",
        "function",
        "function_call",
        "namespace",
        "output",
      ],
      ...["call_id", "arguments", "custom", "text", "format", "json_schema", "schema", "reasoning", "effort", "user"],
      ...["input_text", "input_image", "input_file", "allowed_tools", "mode", "required", "tool_choice", "assistant"],
      ...["encrypted_content", "configuration_update", "additional_tools", "stream", "top_logprobs", "include"],
    );
    const { value } = fc.letrec((tie) => ({
      value: fc.oneof(
        { maxDepth: 5 },
        fc.oneof(word, fc.string(), fc.double(), fc.boolean(), fc.constant(null)),
        fc.array(tie("value"), { maxLength: 4 }),
        fc.dictionary(fc.oneof({ arbitrary: word, weight: 5 }, fc.string()), tie("value"), { maxKeys: 7 }),
      ),
    }));
    const item = fc.record(
      {
        type: word,
        role: word,
        content: value,
        call_id: value,
        name: word,
        arguments: value,
        output: value,
        tools: value,
      },
      { requiredKeys: [] },
    );
    const request = fc.oneof(
      value,
      fc.record(
        {
          input: fc.oneof(value, fc.array(item, { maxLength: 5 })),
          tools: value,
          tool_choice: value,
          text: value,
          reasoning: value,
        },
        { requiredKeys: [] },
      ),
    );
    fc.assert(
      fc.property(request, (input) => {
        guarded(target, input);
        attempt(target, input);
      }),
      { numRuns: 800, verbose: 1 },
    );
  });
}
