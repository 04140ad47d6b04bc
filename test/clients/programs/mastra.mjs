import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { Agent } from "@mastra/core/agent";
import { createTool } from "@mastra/core/tools";
import { z } from "zod";
import { KEY, MODEL, QUESTION, run, WEATHER } from "./cases.mjs";

const get_weather = createTool({
  id: "get_weather",
  description: "Tells the weather.",
  inputSchema: z.object({ city: z.string() }),
  execute: async () => WEATHER,
});
const agent = (root, tools, more) =>
  new Agent({
    name: "helper",
    instructions: "Answer in few words.",
    model: createOpenAICompatible({ name: "gateway", baseURL: `${root}/v1`, apiKey: KEY, ...more })(MODEL),
    ...(tools && { tools }),
  });

await run({
  plain: async (root) => (await agent(root).generate(QUESTION)).text,
  stream: async (root) => {
    let text = "";
    for await (const piece of (await agent(root).stream(QUESTION)).textStream) text += piece;
    return text;
  },
  tools: async (root) => (await agent(root, { get_weather }).generate(QUESTION)).text,
  structured: async (root) => {
    const schema = z.object({ city: z.string(), celsius: z.number().int() });
    const of = agent(root, undefined, { supportsStructuredOutputs: true });
    return (await of.generate(QUESTION, { structuredOutput: { schema } })).object;
  },
});
