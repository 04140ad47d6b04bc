/** The official SDK: whole, raw events, and its helpers. */
import {
  API_KEY,
  BASE_URL,
  CITY,
  FORECAST,
  load,
  PIXEL,
  play,
  QUESTION,
  raised,
  SLOW,
  SLOW_STREAM,
} from "./scenarios.mjs";

const { OpenAI } = load("openai");
const { zodTextFormat } = load("openai/helpers/zod");
const { z } = load("zod");

const client = new OpenAI({ apiKey: API_KEY, baseURL: BASE_URL });
const once = client.withOptions({ maxRetries: 0 });
const TOOLS = [{ type: "function", name: "weather", description: "Tells it.", parameters: CITY, strict: true }];

const whole = (request) => client.responses.create(request);
const helped = (request) => client.responses.stream(request).finalResponse();
/** Returns the response of the last event, and the events with runs of deltas merged. */
async function raw(request, events = []) {
  let last;
  for await (const event of await client.responses.create({ ...request, stream: true })) {
    last = event.response ?? last;
    const { type, delta, response: _, sequence_number: __, ...rest } = event;
    const before = events.at(-1);
    if (delta !== undefined && before?.type === type && before.item_id === rest.item_id) before.delta += delta;
    else events.push({ type, ...rest, ...(delta !== undefined && { delta }) });
  }
  return last;
}
const FORMS = { whole, raw, helped };
/** The fields that a program reads; the provider echoes `instructions` and the like. */
const summary = ({ output, output_text, status, incomplete_details, usage, error }) => ({
  output: output.map(({ parsed_arguments: _, status: __, ...item }) => item),
  output_text,
  status,
  incomplete_details,
  usage,
  error,
});

/** Repeats until an answer has no calls, sending all earlier answers again. */
async function loop(call, request) {
  const input = [{ role: "user", content: QUESTION }];
  const turns = [];
  for (;;) {
    const answer = await call({ ...request, input });
    turns.push(summary(answer));
    const calls = answer.output.filter(({ type }) => type === "function_call");
    if (calls.length === 0) return turns;
    input.push(...answer.output.map(({ parsed_arguments: _, ...item }) => item));
    input.push(...calls.map(({ call_id }) => ({ type: "function_call_output", call_id, output: FORECAST })));
  }
}

const scenarios = {};
for (const [form, call] of Object.entries(FORMS)) {
  Object.assign(scenarios, {
    [`text, ${form}`]: async (of) => summary(await call({ model: of(), input: QUESTION, instructions: "Be brief." })),
    [`conversation, ${form}`]: async (of) =>
      summary(
        await call({
          model: of(),
          input: [
            { role: "developer", content: "Rules." },
            { role: "user", content: [{ type: "input_text", text: QUESTION }] },
            { role: "assistant", content: "Which one?" },
            { role: "user", content: "Paris." },
          ],
        }),
      ),
    [`three rounds of parallel tools, ${form}`]: (of) =>
      loop(call, { model: of("sim-calls-2+text-first+rounds-3"), tools: TOOLS }),
    [`reasoning and tools, ${form}`]: (of) =>
      loop(call, {
        model: of("sim-calls-2+rounds-3"),
        tools: TOOLS,
        store: false,
        include: ["reasoning.encrypted_content"],
        reasoning: { effort: "low", summary: "auto" },
      }),
    // Some providers receive images of outputs in a separate user turn, so the answer is about another turn.
    [`outputs of text and images, ${form}`]: async (of) => {
      const input = [
        { role: "user", content: QUESTION },
        { type: "function_call", call_id: "call_1", name: "weather", arguments: "{}" },
        {
          type: "function_call_output",
          call_id: "call_1",
          output: [
            { type: "input_text", text: FORECAST },
            { type: "input_image", image_url: `data:image/png;base64,${PIXEL}`, detail: "auto" },
          ],
        },
      ];
      const { status, output } = await call({ model: of(), input, tools: TOOLS, tool_choice: "none" });
      return [status, output.length];
    },
    [`a tool that is forced, one at a time, ${form}`]: async (of) =>
      summary(
        await call({
          model: of("sim-calls-2"),
          input: QUESTION,
          tools: TOOLS,
          tool_choice: { type: "function", name: "weather" },
          parallel_tool_calls: false,
        }),
      ),
    [`vision, ${form}`]: async (of) =>
      summary(
        await call({
          model: of(),
          input: [
            {
              role: "user",
              content: [
                { type: "input_text", text: "What is it?" },
                { type: "input_image", image_url: `data:image/png;base64,${PIXEL}`, detail: "auto" },
              ],
            },
          ],
        }),
      ),
    [`schema, ${form}`]: async (of) =>
      summary(
        await call({
          model: of(),
          input: QUESTION,
          text: { format: { type: "json_schema", name: "out", strict: true, schema: CITY } },
        }),
      ),
    [`refusal, ${form}`]: async (of) => summary(await call({ model: of("sim-refuse"), input: QUESTION })),
    [`filtered, ${form}`]: async (of) => summary(await call({ model: of("sim-filtered"), input: QUESTION })),
    [`limit, ${form}`]: async (of) =>
      summary(await call({ model: of("sim-long-500"), input: QUESTION, max_output_tokens: 16 })),
    [`nothing said, ${form}`]: async (of) => summary(await call({ model: of("sim-no-text"), input: QUESTION })),
  });
}
scenarios["events of a text"] = async (of) => {
  const events = [];
  await raw({ model: of(), input: QUESTION }, events);
  return events;
};
scenarios["events of calls"] = async (of) => {
  const events = [];
  await raw({ model: of("sim-calls-2+text-first"), input: QUESTION, tools: TOOLS }, events);
  return events;
};
scenarios["the response object"] = async (of) => {
  const metadata = { a: "b" };
  const answer = await whole({ model: of(), input: QUESTION, temperature: 0.5, metadata, max_output_tokens: 100 });
  return answer;
};
scenarios["parsed"] = async (of) => {
  const format = zodTextFormat(z.object({ city: z.string(), days: z.array(z.number()) }), "out");
  const request = { model: of(), input: QUESTION, text: { format } };
  const streamed = await client.responses.stream(request).finalResponse();
  return [(await client.responses.parse(request)).output_parsed, streamed.output_parsed];
};
for (const model of ["sim-400", "sim-401", "sim-404", "sim-413", "sim-422"]) {
  scenarios[`${model}`] = async (of) => {
    const request = { model: of(model), input: QUESTION };
    return [await raised(() => whole(request)), await raised(() => raw(request)), await raised(() => helped(request))];
  };
}
for (const model of ["sim-429", "sim-529", "sim-drop-before-headers", "sim-error-first-event"]) {
  scenarios[`${model}, asked once`] = (of) =>
    raised(() => once.responses.create({ model: of(model), input: QUESTION }));
}
for (const model of ["sim-error-first-event", "sim-error-mid-stream", "sim-drop-mid-stream", "sim-reset-mid-stream"]) {
  scenarios[`${model}, helper`] = async (of) =>
    (await raised(() => helped({ model: of(model), input: QUESTION }))).name;
}
scenarios["sim-error-mid-stream, raw"] = async (of) =>
  (await raised(() => raw({ model: of("sim-error-mid-stream"), input: QUESTION }))).name;
// A messages provider has no code for these.
for (const model of ["sim-500", "sim-503"]) {
  scenarios[`${model}, asked once`] = async (of) => {
    const { code: _, ...failure } = await raised(() => once.responses.create({ model: of(model), input: QUESTION }));
    return failure;
  };
}
scenarios["a wrong key"] = async (of) =>
  raised(() => client.withOptions({ apiKey: "no" }).responses.create({ model: of(), input: QUESTION }));
scenarios["aborted, whole"] = async (of) => {
  const signal = AbortSignal.timeout(100);
  return raised(() => client.responses.create({ model: of(SLOW), input: QUESTION }, { signal }));
};
scenarios["aborted, streamed"] = async (of) => {
  const stream = client.responses.stream({ model: of(SLOW_STREAM), input: QUESTION });
  stream.on("response.output_text.delta", () => stream.abort());
  return raised(() => stream.finalResponse());
};
await play(scenarios);
