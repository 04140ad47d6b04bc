/** The AI SDK, `openai(model)`: only address and key are set, unless a scenario says otherwise. */
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

const { createOpenAI } = load("@ai-sdk/openai");
const ai = load("ai");
const {
  generateText,
  isStepCount,
  jsonSchema,
  Output,
  stepCountIs = isStepCount,
  streamText,
  ToolLoopAgent,
  tool,
} = ai;
const { z } = load("zod");
globalThis.AI_SDK_LOG_WARNINGS = false;

const openai = createOpenAI({ apiKey: API_KEY, baseURL: BASE_URL });
const tools = {
  weather: tool({ description: "Tells it.", inputSchema: jsonSchema(CITY), execute: async () => FORECAST }),
};
const step = ({ text, reasoningText, toolCalls, toolResults, finishReason, usage }) => ({
  text,
  reasoningText,
  calls: toolCalls.map(({ toolName, input, invalid }) => ({ toolName, input, invalid })),
  results: toolResults.map(({ output }) => output),
  finishReason,
  usage: { inputTokens: usage.inputTokens, outputTokens: usage.outputTokens },
});

async function whole(request) {
  const { steps, response } = await generateText(request);
  return { steps: steps.map(step), messages: response.messages };
}
async function streamed(request) {
  const failures = [];
  const answer = streamText({ ...request, onError: ({ error }) => void failures.push(error) });
  const parts = [];
  for await (const { type } of answer.fullStream) if (parts.at(-1) !== type) parts.push(type);
  if (failures.length > 0) throw failures[0];
  const { messages } = await answer.response;
  return { steps: (await answer.steps).map(step), messages, parts };
}

const scenarios = {};
for (const [form, call] of Object.entries({ whole, streamed })) {
  const request = { prompt: QUESTION };
  const looping = { ...request, tools, stopWhen: stepCountIs(12) };
  const open = { providerOptions: { openai: { store: false } } };
  const thinking = { providerOptions: { openai: { reasoningEffort: "low", reasoningSummary: "auto" } } };
  const thinkingOpen = { providerOptions: { openai: { ...thinking.providerOptions.openai, store: false } } };
  Object.assign(scenarios, {
    [`text, ${form}`]: (of) => call({ ...request, model: openai(of()), system: "Be brief." }),
    [`text of a known model, ${form}`]: (of) =>
      call({ ...request, model: openai(of("sim-small", true)), system: "Be brief." }),
    [`ten steps, ${form}`]: (of) => call({ ...looping, model: openai(of("sim-calls-2+text-first+rounds-9")) }),
    [`ten steps with reasoning, ${form}`]: (of) =>
      call({ ...looping, ...thinking, model: openai(of("sim-calls-2+text-first+rounds-9", true)) }),
    [`steps without a store, ${form}`]: (of) =>
      call({ ...looping, ...open, model: openai(of("sim-calls-2+text-first+rounds-3")) }),
    [`steps with reasoning without a store, ${form}`]: (of) =>
      call({ ...looping, ...thinkingOpen, model: openai(of("sim-calls-2+text-first+rounds-3", true)) }),
    [`conversation, ${form}`]: async (of) => {
      const model = openai(of());
      const first = await call({ ...request, model });
      const messages = [{ role: "user", content: QUESTION }, ...first.messages, { role: "user", content: "And then?" }];
      return [first, await call({ model, messages })];
    },
    [`vision, ${form}`]: (of) =>
      call({
        model: openai(of()),
        messages: [
          {
            role: "user",
            content: [
              { type: "text", text: "What is it?" },
              { type: "image", image: Buffer.from(PIXEL, "base64") },
            ],
          },
        ],
      }),
    [`refusal, ${form}`]: (of) => call({ ...request, model: openai(of("sim-refuse")) }),
    [`filtered, ${form}`]: (of) => call({ ...request, model: openai(of("sim-filtered")) }),
    [`limit, ${form}`]: (of) => call({ ...request, model: openai(of("sim-long-500")), maxOutputTokens: 16 }),
    [`nothing said, ${form}`]: (of) => call({ ...request, model: openai(of("sim-no-text")) }),
    [`schema, ${form}`]: async (of) => {
      const output = Output.object({ schema: z.object({ city: z.string(), days: z.array(z.number()) }) });
      const asked = { ...request, model: openai(of()), output };
      if (form === "whole") return (await generateText(asked)).output;
      const parts = [];
      const answer = streamText(asked);
      for await (const part of answer.partialOutputStream) parts.push(part);
      return [parts.at(-1), await answer.output];
    },
    [`aborted, ${form}`]: async (of) => {
      const leaving = new AbortController();
      if (form === "whole") setTimeout(() => leaving.abort(), 100);
      const model = openai(of(form === "whole" ? SLOW : SLOW_STREAM));
      if (form === "whole") return raised(() => call({ ...request, model, abortSignal: leaving.signal }));
      const parts = [];
      for await (const { type } of streamText({ ...request, model, abortSignal: leaving.signal }).fullStream) {
        if (parts.at(-1) !== type) parts.push(type);
        if (type === "text-delta") leaving.abort();
      }
      return parts;
    },
  });
  for (const model of ["sim-400", "sim-401", "sim-429", "sim-500", "sim-529", "sim-drop-before-headers"]) {
    scenarios[`${model}, ${form}`] = (of) =>
      raised(() => call({ ...request, model: openai(of(model)), maxRetries: 0 }));
  }
}
for (const fault of ["sim-error-first-event", "sim-error-mid-stream", "sim-drop-mid-stream"]) {
  scenarios[fault] = async (of) => {
    const parts = [];
    const answer = streamText({ prompt: QUESTION, model: openai(of(fault)), maxRetries: 0, onError: () => {} });
    for await (const { type } of answer.fullStream) if (parts.at(-1) !== type) parts.push(type);
    return parts;
  };
}
scenarios["the agent"] = async (of) => {
  const agent = new ToolLoopAgent({
    model: openai(of("sim-calls-2+text-first+rounds-3")),
    instructions: "Be brief.",
    tools,
  });
  const { steps } = await agent.generate({ prompt: QUESTION });
  const stream = await agent.stream({ prompt: QUESTION });
  await stream.consumeStream();
  return [steps.map(step), (await stream.steps).map(step)];
};
await play(scenarios);
