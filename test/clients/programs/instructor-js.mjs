import Instructor from "@instructor-ai/instructor";
import OpenAI from "openai";
import { z } from "zod";
import { KEY, MODEL, QUESTION, run } from "./cases.mjs";

const schema = z.object({ city: z.string(), celsius: z.number().int() });
const ask = (mode) => async (root) =>
  Instructor({
    client: new OpenAI({ baseURL: `${root}/v1`, apiKey: KEY, maxRetries: 0 }),
    mode,
  }).chat.completions.create({
    model: MODEL,
    messages: [{ role: "user", content: QUESTION }],
    response_model: { schema, name: "Weather" },
  });

await run({ tools: ask("TOOLS"), functions: ask("FUNCTIONS") });
