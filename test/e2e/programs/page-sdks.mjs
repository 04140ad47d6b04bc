/** A page that calls the gateway with both official SDKs, and reports each result to its own server. */
import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";

const { gateway, key } = Object.fromEntries(new URLSearchParams(location.search));
const request = { model: "sim-1", messages: [{ role: "user", content: "hello there" }] };
const once = { maxRetries: 0, dangerouslyAllowBrowser: true };
const openai = (apiKey) => new OpenAI({ ...once, apiKey, baseURL: `${gateway}/v1` });
const anthropic = (apiKey) => new Anthropic({ ...once, apiKey, baseURL: gateway });

async function gathered(stream) {
  let events = 0;
  for await (const _event of stream) events += 1;
  return events > 1 ? "streamed" : "empty";
}

async function exposed(call) {
  const response = await call.asResponse();
  return response.headers.get("x-gateway-request-id") === null ? "hidden" : "shown";
}

/** @type {Record<string, () => Promise<unknown>>} */
const CALLS = {
  "openai: a list of models": async () => (await openai(key).models.list()).data.length > 0,
  "openai: a chat": async () => (await openai(key).chat.completions.create(request)).choices.length,
  "openai: a streamed chat": async () =>
    gathered(await openai(key).chat.completions.create({ ...request, stream: true })),
  "openai: a response": async () => (await openai(key).responses.create({ model: "sim-1", input: "hi" })).status,
  "openai: the request's id": () => exposed(openai(key).chat.completions.create(request)),
  "openai: a wrong key": () => openai("wrong").chat.completions.create(request),
  "openai: a path that is not there": () => openai(key).get("/../nowhere"),
  "anthropic: a message": async () => (await anthropic(key).messages.create({ ...request, max_tokens: 9 })).role,
  "anthropic: a streamed message": () => gathered(anthropic(key).messages.stream({ ...request, max_tokens: 9 })),
  "anthropic: a list of models": async () => (await anthropic(key).models.list()).data.length > 0,
  "anthropic: the request's id": () => exposed(anthropic(key).messages.create({ ...request, max_tokens: 9 })),
  "anthropic: a wrong key": () => anthropic("wrong").messages.create({ ...request, max_tokens: 9 }),
};

const results = {};
for (const [name, call] of Object.entries(CALLS)) {
  try {
    results[name] = await call();
  } catch (error) {
    results[name] = `${error?.constructor?.name} ${error?.status}`;
  }
}
await fetch("/report", { method: "POST", body: JSON.stringify(results) });
