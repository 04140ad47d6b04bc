import { OpenAI } from "@llamaindex/openai";
import { KEY, MODEL, QUESTION, run, WEATHER } from "./cases.mjs";

const llm = (root) => new OpenAI({ model: MODEL, apiKey: KEY, baseURL: `${root}/v1`, maxRetries: 0 });
const messages = [{ role: "user", content: QUESTION }];

await run({
  plain: async (root) => (await llm(root).chat({ messages })).message.content,
  stream: async (root) => {
    let text = "";
    for await (const chunk of await llm(root).chat({ messages, stream: true })) text += chunk.delta;
    return text;
  },
  tools: async (root) => {
    const { agent } = await import("@llamaindex/workflow");
    const { tool } = await import("llamaindex");
    const { z } = await import("zod");
    const weather = tool(() => WEATHER, {
      name: "get_weather",
      description: "Tells the weather.",
      parameters: z.object({ city: z.string() }),
    });
    return (await agent({ llm: llm(root), tools: [weather] }).run(QUESTION)).data.result;
  },
});
