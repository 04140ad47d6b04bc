/** Aliases with the official SDKs: the provider receives its own name, and the client reads the requested one. */
import assert from "node:assert/strict";
import { after, beforeEach, test } from "node:test";
import { toFile } from "openai";
import { startWithFiles, twoDialects } from "./support/config.ts";
import { startWithFlags } from "./support/gateway.ts";
import { drain } from "./support/outcome.ts";
import { clientsOf, simulated } from "./support/simulated.ts";

const file = { after };
const provider = await simulated(file);
const gateway = await startWithFiles(file, {
  catalog_overlays: [twoDialects("simulator", provider.url)],
  providers: [{ preset: "simulator", models: ["sim-*"], model_aliases: { fast: "sim-small", "team/zip": "sim-gzip" } }],
});
const { openai, anthropic, classic } = clientsOf(gateway.url);

const QUESTION = "What is the capital of France?";
const messages = [{ role: "user" as const, content: QUESTION }];

beforeEach(() => fetch(`${provider.url}/sim/reset`, { method: "POST" }));

/** Returns the models named anywhere in the answer, and those that the provider was asked for. */
function named(answer: unknown): { readonly shown: readonly string[]; readonly sent: readonly string[] } {
  const shown = [...JSON.stringify(answer).matchAll(/"model":"([^"]*)"/g)].map((match) => String(match[1]));
  return { shown: [...new Set(shown)], sent: Object.keys(provider.counts().byModel) };
}

for (const [alias, sent] of [
  ["fast", "sim-small"],
  ["team/zip", "sim-gzip"],
] as const) {
  const expected = { shown: [alias], sent: [sent] };
  test(`a request for ${alias} is answered as ${alias} on every route that has a model, whole and streamed`, async () => {
    assert.deepEqual(named(await openai.chat.completions.create({ model: alias, messages })), expected);
    const chunks = await drain(await openai.chat.completions.create({ model: alias, messages, stream: true }));
    assert.deepEqual(named(chunks.items), expected);
    assert.deepEqual(named(await openai.responses.create({ model: alias, input: QUESTION })), expected);
    const events = await drain(await openai.responses.create({ model: alias, input: QUESTION, stream: true }));
    assert.deepEqual(named(events.items), expected);
    assert.deepEqual(named(await openai.embeddings.create({ model: alias, input: "one" })), expected);
    assert.deepEqual(named(await openai.completions.create({ model: alias, prompt: "x" })), expected);
    for (const client of [anthropic, classic]) {
      assert.deepEqual(named(await client.messages.create({ model: alias, messages, max_tokens: 99 })), expected);
      const message = await client.messages.stream({ model: alias, messages, max_tokens: 99 }).finalMessage();
      assert.deepEqual(named(message), expected);
    }
  });

  test(`${alias} in a form field after the file reaches the provider as ${sent}`, async () => {
    const upload = await toFile(Buffer.from("RIFF\0\xff", "latin1"), "speech.wav");
    const { text } = await openai.audio.transcriptions.create({ file: upload, model: alias });
    assert.notEqual(text, "");
    assert.deepEqual(named({}).sent, [sent]);
  });

  test(`${alias} can be retrieved by its path`, async () => {
    await openai.models.retrieve(alias);
    assert.deepEqual(named({}).sent, [sent]);
  });
}

test("a model's own name still works and is answered under that name", async () => {
  const answer = await openai.chat.completions.create({ model: "sim-large", messages });
  assert.deepEqual(named(answer), { shown: ["sim-large"], sent: ["sim-large"] });
});

test("the models list of either dialect includes the aliases beside the provider's models", async () => {
  const compat = (await openai.models.list()).data;
  const own = compat.find(({ id }) => id === "sim-small");
  assert.equal(own?.owned_by, "simulated");
  assert.deepEqual(
    compat.filter(({ owned_by }) => owned_by === "simulator"),
    ["fast", "team/zip"].map((id) => ({ id, object: "model", created: 0, owned_by: "simulator" })),
  );
  for (const client of [anthropic, classic]) {
    const page = await client.models.list();
    const ids = page.data.map(({ id }) => id);
    assert.deepEqual(ids.slice(-2), ["fast", "team/zip"]);
    assert.ok(ids.includes("sim-small") && !page.has_more);
    assert.equal(page.data.at(-1)?.display_name, "team/zip");
  }
});

test("an alias given as a flag works like one in a document", async (t) => {
  const flags = await startWithFlags(t, { upstream: provider.url, more: ["-alias", "quick=sim-small"] });
  const client = clientsOf(flags.url).openai;
  const answer = await client.chat.completions.create({ model: "quick", messages });
  assert.deepEqual(named(answer), { shown: ["quick"], sent: ["sim-small"] });
  const ids = (await client.models.list()).data.map(({ id }) => id);
  assert.ok(ids.includes("quick"));
});
