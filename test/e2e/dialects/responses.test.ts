/**
 * The Responses API from providers without it (messages dialect, or chat completions alone), through the official
 * client, beside the same call at a provider that has it.
 */
import assert from "node:assert/strict";
import { after, beforeEach, test } from "node:test";
import type OpenAI from "openai";
import { mint } from "../governance/support/governed.ts";
import { raisedBy } from "../support/outcome.ts";
import { clientsOf } from "../support/simulated.ts";
import { startResponding, TRANSLATED } from "./support/responding.ts";

const { simulator, node, gateway, key } = await startResponding({ after });
const other = await mint(node, "other");
const { openai } = clientsOf(gateway.url, key);
const of = (channel: string, model = "sim-small"): string => `${channel}/${model}`;
const QUESTION = "What is the weather in Paris and Rome?";
const WEATHER = {
  type: "function" as const,
  name: "weather",
  description: "Tells the weather.",
  strict: false,
  parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
};

beforeEach(() => fetch(`${simulator.url}/sim/reset`, { method: "POST" }));

interface Seen {
  readonly path: string;
  readonly body: Readonly<Record<string, unknown>>;
}

async function seen(): Promise<readonly Seen[]> {
  return (await (await fetch(`${simulator.url}/sim/last?n=50`)).json()) as Seen[];
}

/** Returns what a client reads of an answer, without ids, times and the model's name. */
function comparable({ output, status, usage, incomplete_details }: OpenAI.Responses.Response): object {
  return {
    status,
    incomplete_details,
    tokens: usage && { input: usage.input_tokens > 0, output: usage.output_tokens },
    output: output.map((item) => {
      if (item.type === "message") return { type: item.type, content: item.content, status: item.status };
      if (item.type === "function_call")
        return { type: item.type, name: item.name, arguments: JSON.parse(item.arguments) };
      return { type: item.type };
    }),
  };
}

const CASES: Readonly<Record<string, { readonly model?: string; readonly request: object }>> = {
  text: { request: { input: QUESTION, instructions: "Be brief." } },
  messages: {
    request: {
      input: [
        { role: "developer", content: "Rules." },
        { role: "user", content: [{ type: "input_text", text: QUESTION }] },
        { role: "assistant", content: "Which one?" },
        { role: "user", content: "Paris." },
      ],
    },
  },
  "parallel tools": { model: "sim-calls-2", request: { input: QUESTION, tools: [WEATHER] } },
  "tools after text": { model: "sim-calls-2+text-first", request: { input: QUESTION, tools: [WEATHER] } },
  schema: {
    request: {
      input: QUESTION,
      text: {
        format: {
          type: "json_schema",
          name: "out",
          strict: true,
          schema: {
            type: "object",
            properties: { city: { type: "string" } },
            required: ["city"],
            additionalProperties: false,
          },
        },
      },
    },
  },
  limit: { request: { input: QUESTION, max_output_tokens: 16 } },
};

for (const channel of TRANSLATED) {
  for (const [title, { model, request }] of Object.entries(CASES)) {
    test(`${channel}: ${title} gets the same answer as from a provider with the route, whole and streamed`, async () => {
      const paramsFor = (by: string) =>
        ({ ...request, model: of(by, model) }) as OpenAI.Responses.ResponseCreateParamsNonStreaming;
      const native = await openai.responses.create(paramsFor("native"));
      const whole = await openai.responses.create(paramsFor(channel));
      assert.deepEqual(comparable(whole), comparable(native));
      const streamed = (by: string) => openai.responses.stream({ ...paramsFor(by), stream: true }).finalResponse();
      assert.deepEqual(comparable(await streamed(channel)), comparable(await streamed("native")));
      const events = await openai.responses.create({ ...paramsFor(channel), stream: true });
      let count = 0;
      for await (const { type, sequence_number } of events) {
        assert.equal(sequence_number, count, type);
        count += 1;
      }
      assert.equal(whole.model, of(channel, model));
    });
  }

  test(`${channel}: a tool loop continues from the previous answer, including reasoning`, async () => {
    const params = {
      model: of(channel, "sim-calls-2"),
      tools: [WEATHER],
      reasoning: { effort: "medium" as const, summary: "auto" as const },
      include: ["reasoning.encrypted_content" as const],
      store: false,
    };
    const first = await openai.responses.create({ ...params, input: QUESTION });
    const reasoning = first.output.find((item) => item.type === "reasoning");
    assert.ok(reasoning?.encrypted_content?.startsWith("gwr1.") === true);
    assert.ok(reasoning.summary.length > 0);
    const calls = first.output.filter((item) => item.type === "function_call");
    assert.equal(calls.length, 2);
    const outputs = calls.map(({ call_id }) => ({ type: "function_call_output" as const, call_id, output: "21" }));
    const second = await openai.responses.create({
      ...params,
      input: [{ role: "user", content: QUESTION }, ...first.output, ...outputs] as OpenAI.Responses.ResponseInput,
    });
    assert.ok(second.output_text !== "");
    const { body } = (await seen()).at(-1) as Seen;
    const text = JSON.stringify(body["messages"]);
    assert.match(
      text,
      channel === "messages" ? /"type":"thinking","thinking":".+","signature":"[^"]+"/ : /"reasoning_content":"[^"]+"/,
    );
    assert.doesNotMatch(JSON.stringify(body), /gwr1\./);
  });

  test(`${channel}: reasoning that was changed or belongs to another caller or model is dropped and reported`, async () => {
    const params = { model: of(channel), input: QUESTION, reasoning: { effort: "low" } } as const;
    const answered = await openai.responses.create(params);
    const [reasoning] = answered.output;
    assert.ok(reasoning?.type === "reasoning" && reasoning.encrypted_content);
    const sealed = reasoning.encrypted_content;
    const changed = `${sealed.slice(0, -4)}${sealed.endsWith("AAAA") ? "BBBB" : "AAAA"}`;
    const again = (content: string): object => ({
      input: [
        { role: "user", content: QUESTION },
        { ...reasoning, encrypted_content: content },
        { role: "assistant", content: "Sunny." },
        { role: "user", content: "And tomorrow?" },
      ],
    });
    for (const [by, model, content, isKept] of [
      [openai, params.model, sealed, true],
      [openai, params.model, changed, false],
      [openai, params.model, "gAAAAABo-of-another-maker", false],
      [openai, of(channel, "sim-calls-2"), sealed, false],
      [clientsOf(gateway.url, other).openai, params.model, sealed, false],
    ] as const) {
      const { response } = await by.responses
        .create({ ...params, model, ...again(content) } as OpenAI.Responses.ResponseCreateParamsNonStreaming)
        .withResponse();
      const lost = response.headers.get("x-gateway-fidelity-losses") ?? "";
      assert.equal(lost.includes("thinking_replay"), !isKept, `${model} ${lost}`);
      const { body } = (await seen()).at(-1) as Seen;
      assert.equal(/"thinking":"|reasoning_content/.test(JSON.stringify(body["messages"])), isKept);
    }
  });

  test(`${channel}: referenced items are resolved, for their own caller alone`, async () => {
    const { id, output } = await openai.responses.create({ model: of(channel), input: QUESTION });
    const [item] = output;
    assert.ok(item?.id);
    const input = [
      { role: "user", content: QUESTION },
      { type: "item_reference", id: item.id },
      { role: "user", content: "And tomorrow?" },
    ] as OpenAI.Responses.ResponseInput;
    const second = await openai.responses.create({ model: of(channel), input });
    assert.equal(second.status, "completed");
    const { body } = (await seen()).at(-1) as Seen;
    assert.match(JSON.stringify(body["messages"]), /This is a simulated answer/);
    const refused = await raisedBy(
      clientsOf(gateway.url, other).openai.responses.create({ model: of(channel), input }),
    );
    assert.equal(refused.status, 400);
    assert.match(refused.message, /input\[1\].*stored_responses.*providerOptions\.openai\.store/s);
    assert.deepEqual(await openai.responses.delete(id), { id, object: "response", deleted: true });
    assert.equal((await raisedBy(openai.responses.create({ model: of(channel), input }))).status, 400);
    const absent = await raisedBy(openai.responses.retrieve(id));
    assert.deepEqual([absent.status, absent.code], [404, "response_not_found"]);
  });

  test(`${channel}: nothing is stored for a request with \`store: false\``, async () => {
    const { output } = await openai.responses.create({ model: of(channel), input: QUESTION, store: false });
    const reference = { type: "item_reference" as const, id: output[0]?.id ?? "" };
    const again = openai.responses.create({
      model: of(channel),
      input: [reference, { role: "user", content: "And?" }],
    });
    assert.equal((await raisedBy(again)).status, 400);
  });

  test(`${channel}: a request that needs a store or a provider's tool is refused by name before any provider is asked`, async () => {
    for (const [request, name] of [
      [{ previous_response_id: "resp_1" }, /stored_responses/],
      [{ conversation: "conv_1" }, /stored_responses/],
      [{ prompt: { id: "pmpt_1" } }, /stored_prompts/],
      [{ background: true }, /background/],
      [{ tools: [{ type: "web_search" }], tool_choice: { type: "web_search" } }, /web_search/],
    ] as const) {
      const params = {
        model: of(channel),
        input: QUESTION,
        ...request,
      } as OpenAI.Responses.ResponseCreateParamsNonStreaming;
      const refused = await raisedBy(openai.responses.create(params));
      assert.equal(refused.status, 400);
      assert.match(refused.message, name);
    }
    assert.deepEqual(await seen(), []);
  });

  test(`${channel}: errors before and during the stream are raised`, async () => {
    const limited = await raisedBy(openai.responses.create({ model: of(channel, "sim-429"), input: QUESTION }));
    assert.deepEqual([limited.raised, limited.status], ["RateLimitError", 429]);
    for (const fault of ["sim-drop-mid-stream", "sim-error-mid-stream"]) {
      const model = of(channel, fault);
      await assert.rejects(openai.responses.stream({ model, input: QUESTION }).finalResponse(), fault);
      const response = await fetch(`${gateway.url}/v1/responses`, {
        method: "POST",
        headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
        body: JSON.stringify({ model, input: QUESTION, stream: true }),
      });
      const frames = (await response.text()).trim().split(/\n\n+/);
      assert.match(frames.at(-2) ?? "", /^event: error\n/, fault);
      assert.match(frames.at(-1) ?? "", /^event: response\.failed\n/, fault);
      const failed = JSON.parse(/^data: (.*)$/m.exec(frames.at(-1) ?? "")?.[1] ?? "") as {
        response: { error: object };
      };
      assert.deepEqual(Object.keys(failed.response.error), ["code", "message"], fault);
    }
  });
}

test("input tokens are counted by a messages provider, and refused by a provider with chat completions alone", async () => {
  const count = await openai.responses.inputTokens.count({ model: of("messages"), input: QUESTION });
  assert.equal(count.object, "response.input_tokens");
  assert.ok(count.input_tokens > 0);
  assert.deepEqual(
    (await seen()).map(({ path }) => path),
    ["/v1/messages/count_tokens"],
  );
  assert.equal(
    (await raisedBy(openai.responses.inputTokens.count({ model: of("chat"), input: QUESTION }))).status,
    400,
  );
});

test("a provider with the route receives the original bytes, without reasoning that another channel sealed", async () => {
  const answered = await openai.responses.create({
    model: of("messages"),
    input: QUESTION,
    reasoning: { effort: "low" },
  });
  const { response } = await openai.responses
    .create({
      model: of("native"),
      input: [
        { role: "user", content: QUESTION },
        ...answered.output,
        { role: "user", content: "And?" },
      ] as OpenAI.Responses.ResponseInput,
    })
    .withResponse();
  assert.equal(response.headers.get("x-gateway-fidelity-losses"), 'thinking_replay;field="input"');
  const { body } = (await seen()).at(-1) as Seen;
  assert.doesNotMatch(JSON.stringify(body), /gwr1|"type":"reasoning"/);
});
