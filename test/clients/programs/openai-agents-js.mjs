import { Agent, OpenAIChatCompletionsModel, run as runAgent, setTracingDisabled, tool } from "@openai/agents";
import OpenAI from "openai";
import { z } from "zod";
import { KEY, MODEL, QUESTION, run, WEATHER } from "./cases.mjs";

setTracingDisabled(true);
const modelAt = (root) =>
  new OpenAIChatCompletionsModel(new OpenAI({ baseURL: `${root}/v1`, apiKey: KEY, maxRetries: 0 }), MODEL);
const weather = tool({
  name: "get_weather",
  description: "Tells the weather.",
  parameters: z.object({ city: z.string() }),
  execute: () => WEATHER,
});
const agent = (root, more = {}) =>
  new Agent({ name: "Helper", instructions: "Answer in few words.", model: modelAt(root), ...more });

async function streamed(root, more) {
  const result = await runAgent(agent(root, more), QUESTION, { stream: true });
  for await (const _ of result);
  await result.completed;
  return result.finalOutput;
}

await run({
  plain: async (root) => (await runAgent(agent(root), QUESTION)).finalOutput,
  stream: (root) => streamed(root),
  tools: async (root) => (await runAgent(agent(root, { tools: [weather] }), QUESTION)).finalOutput,
  "tools-stream": (root) => streamed(root, { tools: [weather] }),
  structured: async (root) => {
    const outputType = z.object({ city: z.string(), celsius: z.number().int() });
    return (await runAgent(agent(root, { outputType }), QUESTION)).finalOutput;
  },
});
