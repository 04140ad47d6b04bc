/**
 * The AI SDK with its defaults, which refers to items of earlier answers by id, over three nodes behind a round robin:
 * any node finds items stored on another, and gives the remedy when that one is down. With GATEWAY_CLIENTS_ALL=1 each
 * kind of channel is asked for each kind of model. Source: Responses reference, 5.1 and 5.5.
 */
import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { peer } from "../../peers/index.ts";
import { outputOf } from "../agents/support/programs.ts";
import { startResponding, TRANSLATED } from "./support/responding.ts";
import { roundRobin } from "./support/round-robin.ts";

const PROGRAM = join(dirname(fileURLToPath(import.meta.url)), "programs/responses-steps.mjs");
const STEPS = 10;
const OWN_TAG = /_gw([0-9a-f]{6})/g;

interface Conversation {
  readonly messages?: readonly object[];
  readonly ends?: readonly (readonly [end: string, hasText: boolean, hasReasoning: boolean])[];
  readonly failure?: { readonly name: string; readonly statusCode: number; readonly message: string };
}

const isAll = process.env["GATEWAY_CLIENTS_ALL"] === "1";
const clients = await peer("responses-clients");

test("ten steps of text, reasoning and tools refer to items that three nodes remember, until one node is killed", {
  skip: clients.missing,
}, async () => {
  const { nodes, simulator, key } = await startResponding({ after }, ["n1", "n2", "n3"]);
  const url = await roundRobin(
    { after },
    nodes.map(({ gateway }) => gateway.url),
  );
  const folder = await mkdtemp(join(tmpdir(), "gateway-steps-"));
  after(() => rm(folder, { recursive: true, force: true }));
  const conversation = async (model: string, following: readonly string[] = []): Promise<Conversation> =>
    JSON.parse(
      await outputOf(process.execPath, [PROGRAM, clients.path, url, key, model, ...following]),
    ) as Conversation;
  const asked = isAll ? TRANSLATED.flatMap((channel) => [channel, `o4-${channel}`]) : ["messages", "o4-chat"];
  const models = asked.map((channel) => `${channel}/sim-calls-2+text-first+rounds-9`);

  const files: (readonly [model: string, file: string])[] = [];
  for (const [at, model] of models.entries()) {
    const { messages = [], ends = [], failure } = await conversation(model);
    assert.equal(failure, undefined, model);
    assert.deepEqual(
      ends.map(([end]) => end),
      [...Array<string>(STEPS - 1).fill("tool-calls"), "stop"],
    );
    // The client omits an effort unless it knows the model as a reasoning model.
    assert.ok(
      ends.every(([, hasText, hasReasoning]) => hasText && hasReasoning === model.startsWith("o4-")),
      model,
    );
    const text = JSON.stringify(messages);
    assert.equal(
      new Set(Array.from(text.matchAll(OWN_TAG), ([, tag]) => tag)).size,
      nodes.length,
      "all nodes answered",
    );
    const sent = (await (await fetch(`${simulator.url}/sim/last?n=1`)).json()) as readonly [{ readonly body: object }];
    const output = JSON.stringify(sent[0].body);
    assert.equal(
      output.split("The simulated provider calls a tool now.").length,
      STEPS,
      "every text was put in its place",
    );
    if (model.startsWith("o4-")) {
      const thought = /"type":"thinking"|"reasoning_content"/g;
      assert.equal(Array.from(output.matchAll(thought)).length, STEPS - 1, "and all reasoning");
    }
    const file = join(folder, `${at}.json`);
    await writeFile(file, text);
    files.push([model, file]);
  }

  const gone = nodes.at(-1);
  assert.ok(gone);
  gone.gateway.signal("SIGKILL");
  await gone.gateway.ended;
  for (const [model, file] of files) {
    const { failure } = await conversation(model, [file]);
    assert.equal(failure?.statusCode, 400, model);
    assert.match(failure.message, /stored_responses.*providerOptions\.openai\.store/s);
    assert.equal((await conversation(model)).failure, undefined, "a new conversation goes on without it");
  }
});
