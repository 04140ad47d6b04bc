import Anthropic from "@anthropic-ai/sdk";
import { betaZodTool } from "@anthropic-ai/sdk/helpers/beta/zod";
import { zodOutputFormat } from "@anthropic-ai/sdk/helpers/zod";
import { z } from "zod";
import { KEY, MODEL, QUESTION, run, WEATHER } from "./cases.mjs";

const client = (root) => new Anthropic({ baseURL: root, apiKey: KEY, maxRetries: 0 });
const messages = [{ role: "user", content: QUESTION }];
const base = { model: MODEL, max_tokens: 1024, messages };
const Weather = z.object({ city: z.string(), celsius: z.number().int() });
const weather = betaZodTool({
  name: "get_weather",
  description: "Tells the weather.",
  inputSchema: z.object({ city: z.string() }),
  run: () => WEATHER,
});
const textOf = (message) => message.content.map((block) => block.text ?? "").join("");

await run({
  plain: async (root) => textOf(await client(root).messages.create(base)),
  stream: async (root) => {
    let text = "";
    for await (const event of await client(root).messages.create({ ...base, stream: true })) {
      if (event.type === "content_block_delta") text += event.delta.text ?? "";
    }
    return text;
  },
  "stream-helper": (root) => client(root).messages.stream(base).finalText(),
  // It uses a message thread by default.
  tools: async (root) => textOf(await client(root).beta.messages.toolRunner({ ...base, tools: [weather] })),
  "tools-stream": async (root) => {
    let last;
    for await (const stream of client(root).beta.messages.toolRunner({ ...base, tools: [weather], stream: true })) {
      last = await stream.finalMessage();
    }
    return textOf(last);
  },
  thread: async (root) => {
    const thread = client(root).beta.messages.thread({ model: MODEL, max_tokens: 1024 });
    await thread.send({ role: "user", content: QUESTION });
    return textOf(await thread.send({ role: "user", content: "And tomorrow?" }));
  },
  structured: async (root) => {
    const message = await client(root).messages.parse({
      ...base,
      output_config: { format: zodOutputFormat(Weather) },
    });
    return message.parsed_output;
  },
  count: async (root) => (await client(root).messages.countTokens({ model: MODEL, messages })).input_tokens,
  models: async (root) => (await client(root).models.list()).data.length,
});
