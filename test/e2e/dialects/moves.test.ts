/**
 * Failover between providers of different dialects within one request: each is called in its own dialect, and the
 * client reads its own. Source: specification document 3 (`failover`).
 */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { startWithFiles } from "../support/config.ts";
import { clientsOf, simulated } from "../support/simulated.ts";
import { tellByAnthropic } from "./support/anthropic.ts";
import { answers, ends, QUESTION, QUESTION_REQUEST } from "./support/features/question.ts";
import { tellByOpenai } from "./support/openai.ts";
import { surface, UPSTREAMS } from "./support/rig.ts";
import { CLIENTS, type ClientName, FORMS, type Form } from "./support/sdk-answer.ts";

const file = { after };
const [compat, messages] = await Promise.all([simulated(file), simulated(file)]);
const simulators = { compat, messages };
const WHEN = ["connect", "5xx", 429];

/** Chains of providers by dialect; all but the last fail. */
const CHAINS = {
  "to-messages": ["compat", "messages"],
  "to-compat": ["messages", "compat"],
  "to-messages-and-back": ["compat", "messages", "compat"],
  "to-compat-and-back": ["messages", "compat", "messages"],
} as const;

const providers = Object.entries(CHAINS).flatMap(([model, chain]) =>
  chain.map((preset, at) => ({
    name: `${model}-${at}`,
    preset,
    model_aliases: { [model]: at === chain.length - 1 ? "sim-small" : "sim-503" },
    ...(at === 0 && {
      failover: { to: chain.slice(1).map((_, later) => `${model}-${later + 1}`), when: WHEN },
    }),
  })),
);

const gateway = await startWithFiles(file, {
  catalog_overlays: UPSTREAMS.map((dialect) => surface({ name: dialect, dialect, url: simulators[dialect].url })),
  providers,
});
const clients = clientsOf(gateway.url);

const ask = (client: ClientName, model: string, form: Form) =>
  client === "openai"
    ? tellByOpenai(clients.openai, { form, model, params: QUESTION_REQUEST.openai })
    : tellByAnthropic(clients.anthropic, { form, model, params: QUESTION_REQUEST.anthropic });

for (const [model, chain] of Object.entries(CHAINS)) {
  for (const client of CLIENTS) {
    test(`the ${client} client is answered by the last provider of ${chain.join(", ")}`, async () => {
      for (const form of FORMS) {
        const before = UPSTREAMS.map((dialect) => simulators[dialect].counts().requests);
        const answer = await ask(client, model, form);
        answers(answer, "sim-small", QUESTION);
        ends(answer, { client }, "end");
        assert.equal(answer.model, model, "the client reads the alias that it asked for");
        const seen = clients.seen.at(-1)?.headers ?? {};
        assert.equal(seen["x-gateway-attempts"], String(chain.length));
        assert.equal(seen["x-gateway-provider"], `${model}-${chain.length - 1}`);
        const asked = UPSTREAMS.map((dialect, at) => simulators[dialect].counts().requests - (before[at] ?? 0));
        assert.deepEqual(
          asked,
          UPSTREAMS.map((dialect) => chain.filter((each) => each === dialect).length),
        );
      }
    });
  }
}

test("a candidate that would lose something is skipped", async () => {
  const before = messages.counts().requests;
  const result = await clients.openai.chat.completions
    .create({ ...QUESTION_REQUEST.openai, model: "to-messages-and-back", seed: 7 })
    .withResponse();
  assert.equal(result.response.headers.get("x-gateway-provider"), "to-messages-and-back-2");
  assert.equal(messages.counts().requests, before);
});

test("if no candidate can take the request, the client reads the first one's error in its own dialect", async () => {
  const { openai } = clients;
  const refused: unknown = await openai.chat.completions
    .create({ ...QUESTION_REQUEST.openai, model: "to-messages", seed: 7 })
    .catch((error: unknown) => error);
  assert.equal(Object(refused)["status"], 503);
});
