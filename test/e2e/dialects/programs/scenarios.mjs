/**
 * Shared by the programs of this folder: `node PROGRAM PEER URL KEY CHANNELS` runs every scenario on each of the
 * comma-separated channels and prints a line of JSON for each: `[channel, scenario, result]`.
 */
import { createRequire } from "node:module";

const [, , peer, url, key, channels] = process.argv;

export const load = createRequire(peer);
export const API_KEY = key;
export const BASE_URL = `${url}/v1`;
export const QUESTION = "What is the weather in Paris and Rome?";
export const CITY = {
  type: "object",
  properties: { city: { type: "string" } },
  required: ["city"],
  additionalProperties: false,
};
export const FORECAST = "21 degrees";
export const PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
/** Delay of whole calls, and between two events of a stream. */
export const SLOW = "sim-slow-5s";
export const SLOW_STREAM = "sim-slow-stream-200ms";

/**
 * Each scenario gets `of`, which returns the model's name on the channel; `knows` selects one that clients treat as a
 * reasoning model.
 */
export async function play(scenarios) {
  await Promise.all(channels.split(",").map((channel) => playAt(channel, scenarios)));
}

async function playAt(channel, scenarios) {
  const of = (model = "sim-small", knows = false) => `${knows ? "o4-" : ""}${channel}/${model}`;
  await Promise.all(
    Object.entries(scenarios).map(async ([name, run]) => {
      const seen = await run(of).catch((error) => ({ raised: failureOf(error) }));
      console.log(JSON.stringify([channel, name, plain(seen, channel)]));
    }),
  );
}

/** The fields of an error that a program may branch on. */
function failureOf(error) {
  const { name, status, statusCode, code, isRetryable, finishReason, cause } = error;
  const message = String(error.message).replace(/request[ -]id:? ?\S+/gi, "");
  const isShown = cause instanceof Error && name !== cause.name;
  return {
    name,
    status: status ?? statusCode,
    code,
    isRetryable,
    finishReason,
    message,
    ...(isShown && { cause: cause.name }),
  };
}

export async function raised(run) {
  try {
    return { answered: await run() };
  } catch (error) {
    return failureOf(error);
  }
}

const ID = /\b(resp|msg|rs|fc|ctc|call|toolu)_[A-Za-z0-9_-]{6,}/g;
const COUNTS = /tokens/i;
/** Fields that are specific to one moment, provider or channel. */
const PASSING =
  /^(created_at|completed_at|createdAt|timestamp|obfuscation|service_tier|serviceTier|headers|request|body)$/;
const OPAQUE = /^(encrypted_content|encryptedContent|reasoningEncryptedContent)$/;

/** Replaces ids by their order and counts by their presence, and drops transient fields. */
function plain(value, channel) {
  const ids = new Map();
  const nameOf = (id, prefix) => {
    if (!ids.has(id)) ids.set(id, `${prefix === "toolu" ? "call" : prefix}#${ids.size}`);
    return ids.get(id);
  };
  const walk = (it, key) => {
    if (typeof it === "string") {
      if (key === "arguments" || key === "input") return argumentsOf(it);
      return it.replace(ID, nameOf).replaceAll(`${channel}/`, "").replaceAll(`Provider ${channel} `, "Provider ");
    }
    if (typeof it === "number" && COUNTS.test(key)) return it > 0;
    if (Array.isArray(it)) return it.map((each) => walk(each, key));
    if (typeof it !== "object" || it === null) return it;
    const members = Object.entries(it).filter(
      ([name, each]) => !PASSING.test(name) && !OPAQUE.test(name) && each !== undefined,
    );
    return Object.fromEntries(members.map(([name, each]) => [name, walk(each, name)]));
  };
  return walk(value, "");
}

function argumentsOf(text) {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
