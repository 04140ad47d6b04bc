/**
 * One conversation of the AI SDK with only address and key set: `node responses-steps.mjs PEER URL KEY MODEL
 * [FOLLOWING]`. Prints the messages of the conversation, how its steps ended, or its failure as JSON. `FOLLOWING` is a
 * file of such messages, to which a question is added.
 */
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";

const [, , peer, url, apiKey, model, following] = process.argv;
const load = createRequire(peer);
const { createOpenAI } = load("@ai-sdk/openai");
const { generateText, jsonSchema, stepCountIs, tool } = load("ai");
globalThis.AI_SDK_LOG_WARNINGS = false;

const openai = createOpenAI({ baseURL: `${url}/v1`, apiKey });
const inputSchema = jsonSchema({ type: "object", properties: { city: { type: "string" } }, required: ["city"] });
const tools = { weather: tool({ description: "Tells it.", inputSchema, execute: async () => "21 degrees" }) };
const before = following === undefined ? [] : JSON.parse(await readFile(following, "utf8"));
const messages = [...before, { role: "user", content: "What is the weather in Paris and Rome?" }];

try {
  const { steps, response } = await generateText({
    model: openai(model),
    messages,
    tools,
    stopWhen: stepCountIs(12),
    providerOptions: { openai: { reasoningEffort: "low", reasoningSummary: "auto" } },
  });
  const ends = steps.map(({ finishReason, text, reasoningText = "" }) => [
    finishReason,
    text !== "",
    reasoningText !== "",
  ]);
  console.log(JSON.stringify({ messages: [...messages, ...response.messages], ends }));
} catch ({ name, statusCode, message }) {
  console.log(JSON.stringify({ failure: { name, statusCode, message } }));
}
