// tier: long
/**
 * The official Python SDKs, each with a provider of either dialect: an answer, a stream, and a tool call with its
 * result.
 */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { dirname, join } from "node:path";
import { text } from "node:stream/consumers";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { answerText } from "../../src/simulator/answer-text.ts";
import { peer } from "../peers/index.ts";
import { ALLOWING, aliasOf, startRig, UPSTREAMS } from "./dialects/support/rig.ts";
import { within } from "./support/wait.ts";

const python = await peer("python-sdks");
const SCRIPT = join(dirname(fileURLToPath(import.meta.url)), "support/python-sdks.py");
/** Loading both SDKs takes seconds on a busy machine. */
const LIMIT_MS = 60_000;

const MODEL = "sim-small";
const QUESTION = "What is the weather in Paris?";
const ANSWER = answerText(MODEL, QUESTION, undefined);

interface ClientReport {
  readonly sdk: "openai" | "anthropic";
  readonly model: string;
  readonly case: "unary" | "stream" | "tools";
  readonly text: string;
  readonly [seen: string]: unknown;
}

async function tellAll(url: string, models: readonly string[]): Promise<readonly ClientReport[]> {
  const child = spawn(python.path, [SCRIPT, url, ...models], {
    env: { PATH: process.env["PATH"], PYTHONDONTWRITEBYTECODE: "1" },
    stdio: ["ignore", "pipe", "pipe"],
  });
  try {
    const [out, err] = await within(
      "the end of the script",
      Promise.all([text(child.stdout), text(child.stderr)]),
      LIMIT_MS,
    );
    assert.equal(err, "");
    return out
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as ClientReport);
  } finally {
    child.kill("SIGKILL");
  }
}

test("the Python SDKs read answers, streams and tool calls from either dialect", {
  skip: python.missing,
}, async () => {
  const { gateway } = await startRig({ after }, [MODEL]);
  const models = UPSTREAMS.map((dialect) => aliasOf(dialect + ALLOWING, MODEL));
  const result = await tellAll(gateway.url, models);
  const cases = result.map(({ sdk, model, case: name }) => [sdk, model, name]);
  const expected = models.flatMap((model) =>
    ["openai", "anthropic"].flatMap((sdk) => ["unary", "stream", "tools"].map((name) => [sdk, model, name])),
  );
  assert.deepEqual(cases, expected);
  for (const { sdk, model, case: name, text, ...seen } of result) {
    const about = `${sdk} ${model} ${name}`;
    if (name === "tools") {
      assert.deepEqual(seen, { name: "get_weather", arguments: seen["arguments"] }, about);
      assert.equal(typeof Object(seen["arguments"])["city"], "string", about);
      assert.match(text, /Your tool said: "18 degrees"/, about);
      continue;
    }
    assert.equal(text, ANSWER, about);
    assert.equal(seen["end"], sdk === "openai" ? "stop" : "end_turn", about);
    const usage = seen["usage"];
    assert.ok(Array.isArray(usage) && usage.every((count) => Number.isInteger(count) && count > 0), about);
  }
});
