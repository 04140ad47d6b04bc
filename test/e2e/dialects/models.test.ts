/**
 * `GET /v1/models` and `GET /v1/models/{id}`: the format is the client's, whatever the provider's dialect, and aliases
 * are listed beside the provider's models. Source: specification document 1; dialects reference, 1 (fact 5) and 5.4.
 */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import type Anthropic from "@anthropic-ai/sdk";
import { startWithFiles } from "../support/config.ts";
import { drain, raisedBy } from "../support/outcome.ts";
import { clientsOf, simulated } from "../support/simulated.ts";
import { surface, UPSTREAMS } from "./support/rig.ts";

const file = { after };
const simulator = await simulated(file);
const direct = clientsOf(simulator.url);
/** The provider has no model of the last name, so it must be sent the alias's own model. */
const ALIASES = { fast: "sim-small", "team/zip": "sim-gzip", "sim-404:alias": "sim-small" };

/** Returns the ids of a list over all its pages. */
function idsOf({ items, raised }: Awaited<ReturnType<typeof drain>>): readonly string[] {
  assert.equal(raised, undefined);
  return items.map((item) => String(Object(item)["id"]));
}

const gateways = await Promise.all(
  UPSTREAMS.map((dialect) =>
    startWithFiles(file, {
      catalog_overlays: [surface({ name: "only", dialect, url: simulator.url })],
      providers: [{ preset: "only", models: ["sim-*"], model_aliases: ALIASES }],
      default_provider: "only",
    }),
  ),
);

for (const [at, dialect] of UPSTREAMS.entries()) {
  const gateway = gateways[at];
  assert.ok(gateway);
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

  test(`the messages client reads its own list of models from a ${dialect} provider, aliases last`, async () => {
    const own = idsOf(await drain(direct.anthropic.models.list()));
    for (const client of [anthropic, classic]) {
      const pages = await drain(client.models.list());
      assert.deepEqual(idsOf(pages), [...own, ...Object.keys(ALIASES)]);
      for (const item of pages.items) {
        const { type, display_name, created_at } = item as Anthropic.ModelInfo;
        assert.deepEqual([type, typeof display_name], ["model", "string"]);
        assert.ok(!Number.isNaN(Date.parse(created_at)));
      }
    }
  });

  test(`the messages client pages through the models of a ${dialect} provider`, async () => {
    const all = idsOf(await drain(anthropic.models.list()));
    assert.deepEqual(idsOf(await drain(anthropic.models.list({ limit: 7 }))), all);
  });

  test(`one model of a ${dialect} provider is answered, also by its alias`, async () => {
    for (const id of ["sim-small", ...Object.keys(ALIASES)]) {
      const compat = await openai.models.retrieve(id);
      assert.deepEqual([compat.object, typeof compat.created], ["model", "number"]);
      const messages = await anthropic.models.retrieve(id);
      assert.deepEqual([messages.type, typeof messages.display_name], ["model", "string"]);
      // A shown name can be sent back, while the provider's own name may not be routed here.
      assert.deepEqual([compat.id, messages.id], [id, id]);
    }
  });

  test(`HEAD on models of a ${dialect} provider is answered like GET, without a body`, async () => {
    for (const path of ["/v1/models", "/v1/models/sim-small", "/v1/models/fast", "/v1/models/sim-404"]) {
      const read = await fetch(gateway.url + path);
      const probed = await fetch(gateway.url + path, { method: "HEAD" });
      assert.equal(probed.status, read.status, path);
      assert.equal(probed.headers.get("content-type"), read.headers.get("content-type"), path);
      assert.equal(probed.headers.get("x-gateway-provider"), "only", path);
      assert.equal(await probed.text(), "", path);
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
  test("counting tokens is refused for a compat provider, and the error names the route", async () => {
    const request = { model: "sim-small", messages: [{ role: "user" as const, content: "Hello." }] };
    const refused = await raisedBy(anthropic.messages.countTokens(request));
    assert.deepEqual([refused.raised, refused.status], ["BadRequestError", 400]);
    assert.match(refused.message, /fidelity_loss.*count_tokens/);
  });

  test("a route without a model that the default provider lacks is refused, and the remedy is another default", async () => {
    const answer = await fetch(`${gateway.url}/v1/skills`, { headers: { "anthropic-version": "2023-06-01" } });
    assert.equal(answer.status, 400);
    assert.match(await answer.text(), /no channel on the skills route.*set `default_provider` to one that has it/);
  });
}
