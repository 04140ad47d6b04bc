/** LangChain's `ChatOpenAI` with `useResponsesApi`. */
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

const { ChatOpenAI } = load("@langchain/openai");
const { AIMessage, HumanMessage, SystemMessage, ToolMessage } = load("@langchain/core/messages");
const { z } = load("zod");

const chat = (model, more = {}) =>
  new ChatOpenAI({ model, apiKey: API_KEY, configuration: { baseURL: BASE_URL }, useResponsesApi: true, ...more });
const TOOLS = [{ type: "function", function: { name: "weather", description: "Tells it.", parameters: CITY } }];

const whole = (model, messages, options) => model.invoke(messages, options);
async function streamed(model, messages, options) {
  let all;
  for await (const chunk of await model.stream(messages, options)) all = all === undefined ? chunk : all.concat(chunk);
  return all;
}
const summary = ({ text, tool_calls, invalid_tool_calls, usage_metadata, response_metadata, additional_kwargs }) => ({
  text,
  calls: tool_calls.map(({ name, args }) => ({ name, args })),
  invalid: invalid_tool_calls?.length ?? 0,
  counted: [usage_metadata?.input_tokens > 0, usage_metadata?.output_tokens > 0],
  status: response_metadata.status,
  incomplete: response_metadata.incomplete_details,
  refusal: additional_kwargs.refusal,
  parsed: additional_kwargs.parsed,
});

async function loop(call, model) {
  const messages = [new SystemMessage("Be brief."), new HumanMessage(QUESTION)];
  const turns = [];
  for (;;) {
    const answer = await call(model, messages);
    turns.push(summary(answer));
    if (answer.tool_calls.length === 0) return turns;
    messages.push(
      answer,
      ...answer.tool_calls.map(({ id }) => new ToolMessage({ content: FORECAST, tool_call_id: id })),
    );
  }
}

const scenarios = {};
for (const [form, call] of Object.entries({ whole, streamed })) {
  const reasoning = { effort: "low", summary: "auto" };
  const rounds = "sim-calls-2+text-first+rounds-3";
  Object.assign(scenarios, {
    [`text, ${form}`]: async (of) => summary(await call(chat(of()), QUESTION)),
    [`three rounds of parallel tools, ${form}`]: (of) => loop(call, chat(of(rounds)).bindTools(TOOLS)),
    [`reasoning and tools, ${form}`]: (of) => loop(call, chat(of(rounds), { reasoning }).bindTools(TOOLS)),
    [`reasoning and tools of a known model, ${form}`]: (of) =>
      loop(call, chat(of(rounds, true), { reasoning }).bindTools(TOOLS)),
    [`tools without a store, ${form}`]: (of) => loop(call, chat(of(rounds), { zdrEnabled: true }).bindTools(TOOLS)),
    [`a conversation, ${form}`]: async (of) => {
      const first = await call(chat(of()), QUESTION);
      return summary(
        await call(chat(of()), [new HumanMessage(QUESTION), new AIMessage(first), new HumanMessage("And?")]),
      );
    },
    [`vision, ${form}`]: async (of) => {
      const image = { type: "image_url", image_url: { url: `data:image/png;base64,${PIXEL}` } };
      return summary(
        await call(chat(of()), [new HumanMessage({ content: [{ type: "text", text: "What is it?" }, image] })]),
      );
    },
    [`refusal, ${form}`]: async (of) => summary(await call(chat(of("sim-refuse")), QUESTION)),
    [`filtered, ${form}`]: async (of) => summary(await call(chat(of("sim-filtered")), QUESTION)),
    [`limit, ${form}`]: async (of) => summary(await call(chat(of("sim-long-500"), { maxTokens: 16 }), QUESTION)),
    [`nothing said, ${form}`]: async (of) => summary(await call(chat(of("sim-no-text")), QUESTION)),
    [`aborted, ${form}`]: async (of) => {
      const model = chat(of(form === "whole" ? SLOW : SLOW_STREAM), { maxRetries: 0 });
      const { name } = await raised(() => call(model, QUESTION, { signal: AbortSignal.timeout(100) }));
      return { name };
    },
  });
  for (const fault of ["sim-400", "sim-429", "sim-500"]) {
    scenarios[`${fault}, ${form}`] = async (of) => {
      const { name, status } = await raised(() => call(chat(of(fault), { maxRetries: 0 }), QUESTION));
      return { name, status };
    };
  }
}
scenarios["a structured answer"] = (of) =>
  chat(of())
    .withStructuredOutput(z.object({ city: z.string() }), { method: "jsonSchema", strict: true })
    .invoke(QUESTION);
for (const fault of ["sim-error-first-event", "sim-error-mid-stream", "sim-drop-mid-stream"]) {
  scenarios[fault] = async (of) => {
    const { name } = await raised(() => streamed(chat(of(fault), { maxRetries: 0 }), QUESTION));
    return { name };
  };
}
await play(scenarios);
