/**
 * `GET /v1/models` and `GET /v1/models/{id}`: the shape is the client's, whichever the provider speaks, and aliases stand
 * beside what the provider lists. Source: specification document 1; dialects reference, 1 (fact 5) and 5.4.
 */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { startWithFiles } from "../support/config.ts";
import { drain, raisedBy } from "../support/outcome.ts";
import { clientsOf, simulated } from "../support/simulated.ts";
import { surface, UPSTREAMS } from "./support/rig.ts";

const file = { after };
const simulator = await simulated(file);
const direct = clientsOf(simulator.url);
const ALIASES = { fast: "sim-small", "team/zip": "sim-gzip" };

for (const dialect of UPSTREAMS) {
  const gateway = await startWithFiles(file, {
    catalog_overlays: [surface({ name: "only", dialect, url: simulator.url })],
    providers: [{ preset: "only", models: ["sim-*"], model_aliases: ALIASES }],
    default_provider: "only",
  });
  const { openai, anthropic, classic } = clientsOf(gateway.url);

  test(`the compat client reads its own list of models from a ${dialect} provider, aliases last`, async () => {
    const own = (await direct.openai.models.list()).data.map(({ id }) => id);
    const { data } = await openai.models.list();
    assert.deepEqual(
      data.map(({ id }) => id),
      [...own, ...Object.keys(ALIASES)],
    );
    for (const { object, created, owned_by } of data) {
      assert.deepEqual([object, typeof created, typeof owned_by], ["model", "number", "string"]);
    }
  });

  test(`the messages clients read their own list of models from a ${dialect} provider, aliases last`, async () => {
    const own = (await direct.anthropic.models.list()).data.map(({ id }) => id);
    for (const client of [anthropic, classic]) {
      const page = await client.models.list();
      assert.deepEqual(
        page.data.map(({ id }) => id),
        [...own, ...Object.keys(ALIASES)],
      );
      assert.equal(page.has_more, false);
      for (const { type, display_name, created_at } of page.data) {
        assert.deepEqual([type, typeof display_name], ["model", "string"]);
        assert.ok(!Number.isNaN(Date.parse(created_at)));
      }
    }
  });

  test(`the messages client pages through the models of a ${dialect} provider`, async () => {
    const all = (await anthropic.models.list()).data.map(({ id }) => id);
    const { items, raised } = await drain(anthropic.models.list({ limit: 2 }));
    assert.equal(raised, undefined);
    const ids = items.map((item) => Object(item)["id"] as string);
    assert.deepEqual(new Set(ids), new Set(all));
    assert.equal(ids.length, all.length, "none comes twice");
  });

  test(`one model of a ${dialect} provider, also by its alias`, async () => {
    for (const id of ["sim-small", ...Object.keys(ALIASES)]) {
      const compat = await openai.models.retrieve(id);
      assert.deepEqual([compat.object, typeof compat.created], ["model", "number"]);
      const messages = await anthropic.models.retrieve(id);
      assert.deepEqual([messages.type, typeof messages.display_name], ["model", "string"]);
      for (const shown of [compat.id, messages.id]) assert.ok(shown === id || shown === Object(ALIASES)[id], shown);
      assert.equal(compat.id, messages.id, "both clients read one id");
    }
  });

  test(`a model that a ${dialect} provider does not have is not found`, async () => {
    const failing = "sim-404";
    const compat = await raisedBy(openai.models.retrieve(failing));
    assert.deepEqual([compat.raised, compat.status], ["NotFoundError", 404]);
    const messages = await raisedBy(anthropic.models.retrieve(failing));
    assert.deepEqual([messages.raised, messages.status, messages.type], ["NotFoundError", 404, "not_found_error"]);
  });

  if (dialect === "messages") continue;
  test("tokens cannot be counted by a compat provider, and the refusal names the route", async () => {
    const asked = { model: "sim-small", messages: [{ role: "user" as const, content: "Hello." }] };
    const refused = await raisedBy(anthropic.messages.countTokens(asked));
    assert.deepEqual([refused.raised, refused.status], ["BadRequestError", 400]);
    assert.match(refused.message, /fidelity_loss.*count_tokens/);
  });
}
