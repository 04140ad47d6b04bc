import OpenAI from "openai";
import { zodFunction, zodResponseFormat } from "openai/helpers/zod";
import { z } from "zod";
import { KEY, MODEL, QUESTION, run, WEATHER } from "./cases.mjs";

const client = (root) => new OpenAI({ baseURL: `${root}/v1`, apiKey: KEY, maxRetries: 0 });
const messages = [{ role: "user", content: QUESTION }];
const Weather = z.object({ city: z.string(), celsius: z.number().int() });

await run({
  plain: async (root) =>
    (await client(root).chat.completions.create({ model: MODEL, messages })).choices[0].message.content,
  stream: async (root) => {
    let text = "";
    for await (const chunk of await client(root).chat.completions.create({ model: MODEL, messages, stream: true })) {
      text += chunk.choices[0]?.delta.content ?? "";
    }
    return text;
  },
  "stream-helper": (root) => client(root).chat.completions.stream({ model: MODEL, messages }).finalContent(),
  tools: (root) =>
    client(root)
      .chat.completions.runTools({
        model: MODEL,
        messages,
        tools: [
          zodFunction({
            name: "get_weather",
            parameters: z.object({ city: z.string() }),
            function: () => WEATHER,
          }),
        ],
      })
      .finalContent(),
  "tools-stream": (root) =>
    client(root)
      .chat.completions.runTools({
        model: MODEL,
        messages,
        stream: true,
        tools: [
          zodFunction({
            name: "get_weather",
            parameters: z.object({ city: z.string() }),
            function: () => WEATHER,
          }),
        ],
      })
      .finalContent(),
  structured: async (root) => {
    const { choices } = await client(root).chat.completions.parse({
      model: MODEL,
      messages,
      response_format: zodResponseFormat(Weather, "weather"),
    });
    return choices[0].message.parsed;
  },
  models: async (root) => (await client(root).models.list()).data.length,
});
