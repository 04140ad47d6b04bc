import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateObject, generateText, stepCountIs, streamText, tool } from "ai";
import { z } from "zod";
import { KEY, MODEL, QUESTION, run, WEATHER } from "./cases.mjs";

const KINDS = {
  openai: (root) => createOpenAI({ baseURL: `${root}/v1`, apiKey: KEY }).chat(MODEL),
  compatible: (root, more) =>
    createOpenAICompatible({ name: "gateway", baseURL: `${root}/v1`, apiKey: KEY, ...more })(MODEL),
  anthropic: (root) => createAnthropic({ baseURL: `${root}/v1`, apiKey: KEY })(MODEL),
};
const modelAt = KINDS[process.env.KIND ?? "openai"];
const get_weather = tool({
  description: "Tells the weather.",
  inputSchema: z.object({ city: z.string() }),
  execute: async () => WEATHER,
});
const tools = { get_weather };
const maxRetries = 0;

async function streamed(options) {
  let fault;
  const result = streamText({ ...options, maxRetries, onError: ({ error }) => (fault = error) });
  let text = "";
  for await (const piece of result.textStream) text += piece;
  if (fault !== undefined) throw fault;
  const { inputTokens } = await result.totalUsage;
  // The compatible provider does not request it.
  if (!(inputTokens > 0) && process.env.KIND !== "compatible") throw new Error("no input tokens were told");
  return text;
}

await run({
  plain: async (root) => (await generateText({ model: modelAt(root), prompt: QUESTION, maxRetries })).text,
  stream: (root) => streamed({ model: modelAt(root), prompt: QUESTION }),
  tools: async (root) =>
    (await generateText({ model: modelAt(root), prompt: QUESTION, tools, stopWhen: stepCountIs(4), maxRetries })).text,
  "tools-stream": (root) => streamed({ model: modelAt(root), prompt: QUESTION, tools, stopWhen: stepCountIs(4) }),
  structured: async (root) => {
    const schema = z.object({ city: z.string(), celsius: z.number().int() });
    const model = modelAt(root, { supportsStructuredOutputs: true });
    return (await generateObject({ model, schema, prompt: QUESTION, maxRetries })).object;
  },
});
