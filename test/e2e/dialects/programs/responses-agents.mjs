/** OpenAI Agents: runs, tools, handoffs and guardrails, whole and streamed. */
import { API_KEY, BASE_URL, FORECAST, load, PIXEL, play, QUESTION, raised, SLOW, SLOW_STREAM } from "./scenarios.mjs";

const { Agent, OpenAIProvider, Runner, setTracingDisabled, tool } = load("@openai/agents");
const { z } = load("zod");
setTracingDisabled(true);

const modelProvider = new OpenAIProvider({ apiKey: API_KEY, baseURL: BASE_URL, useResponses: true });
const runner = new Runner({ modelProvider, tracingDisabled: true });
const weather = tool({
  name: "weather",
  description: "Tells it.",
  parameters: z.object({ city: z.string() }),
  execute: async () => FORECAST,
});
const summary = ({ finalOutput, newItems, lastAgent, state }) => ({
  finalOutput,
  agent: lastAgent?.name,
  items: newItems.map(({ type, rawItem }) => [type, rawItem?.name, rawItem?.arguments, rawItem?.status]),
  tokens: state.usage.totalTokens,
  requests: state.usage.requests,
});

const whole = async (agent, input = QUESTION, options = {}) => summary(await runner.run(agent, input, options));
async function streamed(agent, input = QUESTION, options = {}) {
  const result = await runner.run(agent, input, { ...options, stream: true });
  let text = "";
  for await (const event of result.toStream()) {
    if (event.type === "raw_model_stream_event" && event.data.type === "output_text_delta") text += event.data.delta;
  }
  await result.completed;
  if (result.error) throw result.error;
  return { ...summary(result), text };
}

const scenarios = {};
for (const [form, call] of Object.entries({ whole, streamed })) {
  const agent = (model, more = {}) => new Agent({ name: "one", instructions: "Be brief.", model, ...more });
  Object.assign(scenarios, {
    [`text, ${form}`]: (of) => call(agent(of())),
    [`ten rounds of tools, ${form}`]: (of) =>
      call(agent(of("sim-calls-2+text-first+rounds-10"), { tools: [weather] }), QUESTION, { maxTurns: 12 }),
    [`ten rounds with reasoning, ${form}`]: (of) =>
      call(
        agent(of("sim-calls-2+rounds-10"), {
          tools: [weather],
          modelSettings: { reasoning: { effort: "low", summary: "auto" } },
        }),
        QUESTION,
        { maxTurns: 12 },
      ),
    [`too many turns, ${form}`]: async (of) =>
      (await raised(() => call(agent(of("sim-rounds-10"), { tools: [weather] }), QUESTION, { maxTurns: 3 }))).name,
    [`an output type, ${form}`]: (of) => call(agent(of(), { outputType: z.object({ city: z.string() }) })),
    [`handoff, ${form}`]: (of) => {
      const other = agent(of("sim-calls-1+rounds-2"), { name: "other", tools: [weather] });
      return call(agent(of(), { handoffs: [other] }));
    },
    [`guardrails, ${form}`]: async (of) => {
      const guard = (tripwireTriggered) => ({
        name: "g",
        execute: async () => ({ outputInfo: {}, tripwireTriggered }),
      });
      const through = await call(agent(of(), { inputGuardrails: [guard(false)], outputGuardrails: [guard(false)] }));
      const input = await raised(() => call(agent(of(), { inputGuardrails: [guard(true)] })));
      const output = await raised(() => call(agent(of(), { outputGuardrails: [guard(true)] })));
      return [through, input.name, input.message, output.name, output.message];
    },
    [`vision, ${form}`]: (of) =>
      call(agent(of()), [
        {
          role: "user",
          content: [
            { type: "input_text", text: "What is it?" },
            { type: "input_image", image: `data:image/png;base64,${PIXEL}` },
          ],
        },
      ]),
    [`a conversation, ${form}`]: async (of) => {
      const one = agent(of("sim-calls-2"), { tools: [weather] });
      const first = await runner.run(one, QUESTION);
      return call(one, [...first.history, { role: "user", content: "And tomorrow?" }]);
    },
    [`refusal, ${form}`]: (of) => call(agent(of("sim-refuse"))),
    [`limit, ${form}`]: (of) => call(agent(of("sim-long-500"), { modelSettings: { maxTokens: 16 } })),
    [`nothing said, ${form}`]: (of) => call(agent(of("sim-no-text"))),
    [`sim-400, ${form}`]: (of) => call(agent(of("sim-400"))),
    [`aborted, ${form}`]: async (of) => {
      const leaving = new AbortController();
      setTimeout(() => leaving.abort(), 100);
      const model = of(form === "whole" ? SLOW : SLOW_STREAM);
      const { name } = await raised(() => call(agent(model), QUESTION, { signal: leaving.signal }));
      return { name };
    },
  });
}
for (const fault of ["sim-error-mid-stream", "sim-drop-mid-stream"]) {
  scenarios[fault] = async (of) => {
    const { name } = await raised(() => streamed(new Agent({ name: "one", model: of(fault) })));
    return { name };
  };
}
await play(scenarios);
