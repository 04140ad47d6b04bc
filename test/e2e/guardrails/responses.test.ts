/**
 * Guardrails on responses from providers without that API: what detectors see of a request and an answer, what a client
 * assembles from a redacted one, how a denial ends it, and what is stored of it. Source: responses reference, 1.1, 5.3
 * and 7; specification document 3 (`guardrails`).
 */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import OpenAI from "openai";
import { defaultClaims, SseSplitter } from "../../../src/server/core/dialects/index.ts";
import { recordsIn } from "../admin/support/trail.ts";
import { surface } from "../dialects/support/rig.ts";
import { mint, PROVIDER_KEY, say, startGoverned } from "../governance/support/governed.ts";
import { startWithFiles } from "../support/config.ts";
import type { Gateway } from "../support/gateway.ts";
import { raisedBy } from "../support/outcome.ts";
import { reply, type Script, scriptedUpstream } from "../support/upstream.ts";
import { eventually } from "../support/wait.ts";
import { blocks, chunks, type Delta, pausing, streaming } from "./support/answers.ts";
import { ADDRESS, CARD, MAIL, SSN } from "./support/inspected.ts";

const owner = { after };
const upstream = await scriptedUpstream(owner);
const CHAT_ONLY = [...defaultClaims("compat")].filter((name) => name !== "responses");
const CHANNELS = ["messages", "chat"] as const;
type Channel = (typeof CHANNELS)[number];

const guardrails = {
  detectors: [
    {
      type: "pii",
      name: "finder",
      prefilter: "pure",
      apply_to: ["system", "user", "assistant", "tool_args", "tool_result", "output"],
      entities: ["EMAIL_ADDRESS", "US_SSN", "CREDIT_CARD", "IP_ADDRESS"],
    },
  ],
  rules: [
    {
      name: "no-ssn",
      when: 'direction == "response" && "pii/US_SSN" in labels',
      action: "deny",
      message: "Numbers of persons stay here.",
    },
    // Machine addresses are hidden in answers alone, so that a later request shows what was stored.
    { name: "hide-asked", when: 'direction == "request"', action: "redact", select: 'a.label != "IP_ADDRESS"' },
    { name: "hide-said", when: 'direction == "response"', action: "redact", select: 'a.label != "CREDIT_CARD"' },
  ],
};
const deployment = {
  catalog_overlays: [
    surface({ name: "messages", dialect: "messages", url: upstream.url }),
    surface({ name: "chat", dialect: "compat", url: upstream.url, caps: CHAT_ONLY }),
  ],
  providers: CHANNELS.map((preset) => ({
    preset,
    api_key: PROVIDER_KEY,
    model_aliases: { [`${preset}/m`]: "m" },
  })),
};
const [{ node, gateway }, buffering] = await Promise.all([
  startGoverned(owner, { deployment: { ...deployment, guardrails } }),
  startWithFiles(owner, { ...deployment, guardrails: { ...guardrails, stream: { policy: "buffer" } } }),
]);
const key = await mint(node, "one");
const at = ({ url }: Gateway) => new OpenAI({ baseURL: `${url}/v1`, apiKey: key, maxRetries: 0 });
const openai = at(gateway);

const PAY = { type: "function", name: "pay", parameters: { type: "object", properties: {} }, strict: false } as const;
const PATCH = { type: "custom", name: "pay" } as const;
const requestOf = (channel: Channel, more: object = {}) =>
  ({
    model: `${channel}/m`,
    input: "hello",
    max_output_tokens: 4_096,
    reasoning: { effort: "low", summary: "auto" },
    ...more,
  }) as OpenAI.Responses.ResponseCreateParamsNonStreaming;

const DELTAS: readonly Delta[] = [
  { reasoning_content: "She is ada.love" },
  { reasoning_content: "lace@example.com, I think." },
  { content: "Write to ada" },
  { content: ".lovelace@exam" },
  { content: "ple.com, she said." },
  { arguments: '{"input": "ada.lovel' },
  { arguments: 'ace@example.com", "n": 1.0}' },
];

const frames = (channel: Channel, pieces: readonly Delta[]): readonly string[] =>
  channel === "messages" ? blocks(pieces) : chunks(pieces);

/** Returns the same as one body. */
function body(channel: Channel, pieces: readonly Delta[]): string {
  const all = (name: "content" | "reasoning_content" | "arguments"): string =>
    pieces.map((one) => one[name] ?? "").join("");
  const input = all("arguments");
  const id = "t1";
  if (channel === "messages") {
    const content = [
      { type: "thinking", thinking: all("reasoning_content"), signature: "c2ln" },
      { type: "text", text: all("content") },
      ...(input === "" ? [] : [{ type: "tool_use", id, name: "pay", input: JSON.parse(input) }]),
    ].filter((block) => block.type !== "thinking" || block.thinking !== "");
    const usage = { input_tokens: 3, output_tokens: 1 };
    const stop_reason = input === "" ? "end_turn" : "tool_use";
    return JSON.stringify({ id: "m1", type: "message", role: "assistant", model: "m", content, stop_reason, usage });
  }
  const calls =
    input === "" ? {} : { tool_calls: [{ id, type: "function", function: { name: "pay", arguments: input } }] };
  const message = { role: "assistant", content: all("content"), reasoning_content: all("reasoning_content"), ...calls };
  const usage = { prompt_tokens: 3, completion_tokens: 1, total_tokens: 4 };
  return JSON.stringify({
    id: "c1",
    object: "chat.completion",
    created: 1,
    model: "m",
    choices: [{ index: 0, message, finish_reason: input === "" ? "stop" : "tool_calls" }],
    usage,
  });
}

const whole =
  (channel: Channel, pieces: readonly Delta[]): Script =>
  (socket) =>
    reply(socket, { headers: ["Content-Type: application/json"], body: body(channel, pieces) });

/** Returns the texts of an answer, by kind. */
function textsOf({ output }: OpenAI.Responses.Response): readonly unknown[] {
  return output.map((item) => {
    if (item.type === "reasoning") return item.summary.map(({ text }) => text).join("");
    if (item.type === "message")
      return item.content.map((part) => ("text" in part ? part.text : part.refusal)).join("");
    if (item.type === "function_call") return JSON.parse(item.arguments);
    return item.type === "custom_tool_call" ? item.input : item.type;
  });
}

interface Event {
  readonly type: string;
  readonly sequence_number: number;
  readonly delta?: string;
  readonly text?: string;
  readonly arguments?: string;
  readonly input?: string;
  readonly item?: { readonly id: string };
  readonly response?: OpenAI.Responses.Response & { readonly gateway?: { readonly code: string } };
}

const eventsOf = (text: string): readonly Event[] =>
  new SseSplitter().push(Buffer.from(text)).flatMap(({ data }) => (data === undefined ? [] : [JSON.parse(data)]));

const THOUGHT = "She is <EMAIL_ADDRESS>, I think.";
const TEXT = "Write to <EMAIL_ADDRESS>, she said.";

for (const channel of CHANNELS) {
  for (const [policy, on] of [
    ["window", gateway],
    ["buffer", buffering],
  ] as const) {
    for (const [kind, tool, made] of [
      ["function", PAY, { input: "<EMAIL_ADDRESS>", n: 1 }],
      ["custom", PATCH, "<EMAIL_ADDRESS>"],
    ] as const) {
      test(`${channel}, ${policy}, ${kind} tool: a redacted stream is well formed, and its end repeats what it streamed`, async () => {
        upstream.script = streaming(frames(channel, DELTAS));
        const request = requestOf(channel, { tools: [tool] });
        const read = await at(on)
          .responses.stream({ ...request, stream: true })
          .finalResponse();
        assert.deepEqual(textsOf(read), [THOUGHT, TEXT, made]);
        const { text } = await say(on, { key, path: "/v1/responses", body: { ...request, stream: true } });
        assert.doesNotMatch(text, /lovelace/);
        const events = eventsOf(text);
        const numbers = events.map(({ sequence_number }) => sequence_number);
        assert.deepEqual(
          numbers,
          [...new Set(numbers)].toSorted((a, b) => a - b),
        );
        for (const [end, member] of [
          ["output_text", "text"],
          ["reasoning_summary_text", "text"],
          [
            kind === "function" ? "function_call_arguments" : "custom_tool_call_input",
            kind === "function" ? "arguments" : "input",
          ],
        ] as const) {
          const deltas = events.filter(({ type }) => type === `response.${end}.delta`).map(({ delta }) => delta);
          const [done] = events.filter(({ type }) => type === `response.${end}.done`);
          assert.equal(deltas.join(""), done?.[member], end);
        }
        const items = events.filter(({ type }) => type === "response.output_item.done").map(({ item }) => item);
        assert.deepEqual(events.at(-1)?.response?.output, items);
        const [reasoning] = items as unknown as [OpenAI.Responses.ResponseReasoningItem];
        assert.equal(reasoning.encrypted_content, null, "what was hidden does not leave sealed");
      });
    }
  }

  test(`${channel}: a whole answer is redacted in all of its texts`, async () => {
    upstream.script = whole(channel, DELTAS);
    const read = await openai.responses.create(requestOf(channel, { tools: [PAY] }));
    assert.deepEqual(textsOf(read), [THOUGHT, TEXT, { input: "<EMAIL_ADDRESS>", n: 1 }]);
    const custom = await openai.responses.create(requestOf(channel, { tools: [PATCH] }));
    assert.deepEqual(textsOf(custom), [THOUGHT, TEXT, "<EMAIL_ADDRESS>"]);
  });

  test(`${channel}: a denial before the answer is a status, and during its stream an end as filtered`, async () => {
    upstream.script = whole(channel, [{ content: `It is ${SSN}.` }]);
    const refused = await raisedBy(openai.responses.create(requestOf(channel)));
    assert.deepEqual([refused.status, refused.code], [403, "guardrail_denied"]);
    const words = Array.from({ length: 2_000 }, (_, i) => ({ content: `word${i} ` }));
    const { script, go } = pausing(
      frames(channel, words).slice(0, -4),
      frames(channel, [{ content: `It is ${SSN}. ` }, ...words]).slice(channel === "messages" ? 2 : 1),
    );
    upstream.script = script;
    const stream = await openai.responses.create({ ...requestOf(channel), stream: true });
    const events: Event[] = [];
    for await (const event of stream) {
      events.push(event as unknown as Event);
      if (events.length === 8) go();
    }
    const last = events.at(-1);
    assert.equal(last?.type, "response.incomplete");
    assert.deepEqual(
      [last?.response?.status, last?.response?.incomplete_details?.reason, last?.response?.gateway?.code],
      ["incomplete", "content_filter", "guardrail_denied"],
    );
    assert.equal(last?.sequence_number, (events.at(-2)?.sequence_number ?? 0) + 1);
    assert.doesNotMatch(JSON.stringify(events), new RegExp(SSN));
  });

  test(`${channel}: every text of a request is inspected, including referenced items`, async () => {
    upstream.script = whole(channel, [{ content: `Pay with ${CARD}.` }]);
    const first = await openai.responses.create(requestOf(channel, { reasoning: null }));
    assert.match(first.output_text, new RegExp(CARD));
    const called = { call_id: "c1", name: "pay" };
    await openai.responses.create(
      requestOf(channel, {
        instructions: `Write to ${MAIL}.`,
        tools: [PAY, { type: "custom", name: "patch" }],
        input: [
          { role: "developer", content: `And to ${MAIL}.` },
          { role: "user", content: [{ type: "input_text", text: `I am ${MAIL}` }] },
          { type: "item_reference", id: first.output[0]?.id },
          { role: "user", content: "Go on." },
          { type: "function_call", ...called, arguments: JSON.stringify({ to: MAIL }) },
          { type: "custom_tool_call", call_id: "c2", name: "patch", input: `for ${MAIL}` },
          { type: "function_call_output", call_id: "c1", output: [{ type: "input_text", text: `sent to ${MAIL}` }] },
          { type: "custom_tool_call_output", call_id: "c2", output: `done for ${MAIL}` },
        ],
      }),
    );
    const sent = upstream.requests.at(-1)?.body.toString() ?? "";
    assert.equal(sent.split("<EMAIL_ADDRESS>").length - 1, 7, sent);
    assert.match(sent, /Pay with <CREDIT_CARD>/);
    assert.doesNotMatch(sent, /lovelace|4111/);
  });

  for (const streams of [false, true]) {
    test(`${channel}: the stored answer is the one shown to the client, ${streams ? "streamed" : "whole"}`, async () => {
      const result = [{ content: "The machine is 203.0.1" }, { content: "13.77, I hear." }];
      upstream.script = streams ? streaming(frames(channel, result)) : whole(channel, result);
      const request = requestOf(channel, { reasoning: null });
      const first = streams
        ? await openai.responses.stream({ ...request, stream: true }).finalResponse()
        : await openai.responses.create(request);
      upstream.script = whole(channel, [{ content: "Yes." }]);
      const input = [
        { type: "item_reference", id: first.output[0]?.id },
        { role: "user", content: "And?" },
      ];
      await openai.responses.create(requestOf(channel, { reasoning: null, input }));
      const sent = upstream.requests.at(-1)?.body.toString() ?? "";
      assert.match(sent, /The machine is <IP_ADDRESS>, I hear\./);
    });
  }

  test(`${channel}: a denied answer is not stored`, async () => {
    upstream.script = whole(channel, [{ content: `It is ${SSN}.` }]);
    const before = await rememberedBytes();
    assert.equal((await raisedBy(openai.responses.create(requestOf(channel)))).status, 403);
    assert.equal(await rememberedBytes(), before);
  });
}

async function rememberedBytes(): Promise<number> {
  const text = await (await fetch(String(gateway.metricsUrl))).text();
  return Number(/^gateway_response_items_bytes (\S+)$/m.exec(text)?.[1]);
}

test("neither texts nor sealed reasoning reach the log, the audit trail or the metrics", async () => {
  await eventually("records of both directions", () => {
    const events = recordsIn(node.output()).map(({ event }) => event);
    return events.some((event) => event.startsWith("guardrail")) || undefined;
  });
  const all = node.output() + (await (await fetch(String(gateway.metricsUrl))).text());
  for (const canary of [MAIL, SSN, CARD, ADDRESS, "gwr1.", "she said", "I think"])
    assert.ok(!all.includes(canary), canary);
});
