import { ChatAnthropic } from "@langchain/anthropic";
import { tool } from "@langchain/core/tools";
import { createReactAgent } from "@langchain/langgraph/prebuilt";
import { ChatOpenAI } from "@langchain/openai";
import { z } from "zod";
import { KEY, MODEL, QUESTION, run, WEATHER } from "./cases.mjs";

const KINDS = {
  openai: (root) =>
    new ChatOpenAI({ model: MODEL, apiKey: KEY, maxRetries: 0, configuration: { baseURL: `${root}/v1` } }),
  anthropic: (root) => new ChatAnthropic({ model: MODEL, apiKey: KEY, maxRetries: 0, anthropicApiUrl: root }),
};
const modelAt = KINDS[process.env.KIND ?? "openai"];
const weather = tool(() => WEATHER, {
  name: "get_weather",
  description: "Tells the weather.",
  schema: z.object({ city: z.string() }),
});

await run({
  plain: async (root) => (await modelAt(root).invoke(QUESTION)).text,
  stream: async (root) => {
    let text = "";
    for await (const chunk of await modelAt(root).stream(QUESTION)) text += chunk.text;
    return text;
  },
  tools: async (root) => {
    const agent = createReactAgent({ llm: modelAt(root), tools: [weather] });
    const { messages } = await agent.invoke({ messages: [{ role: "user", content: QUESTION }] });
    return messages.at(-1).text;
  },
  structured: (root) =>
    modelAt(root)
      .withStructuredOutput(z.object({ city: z.string(), celsius: z.number().int() }), { name: "weather" })
      .invoke(QUESTION),
});
