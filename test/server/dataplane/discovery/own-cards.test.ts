/** How long an agent's card is cached, and what is served while the agent is unreachable. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { GatewayError } from "../../../../src/base/index.ts";
import { createOwnCards } from "../../../../src/server/dataplane/index.ts";
import { compileFrontedServer, openOrigins } from "../../../../src/server/upstream/index.ts";
import { reply, scriptedUpstream } from "../../../e2e/support/upstream.ts";
import { atEnd } from "../../../e2e/support/wait.ts";
import { staticKeyPresenter } from "../../credentials/static-key-presenter.ts";

const file = { after };
const MINUTE = 60_000;
const PUBLIC_URL = "https://gw.example.com";
const TERMS = { url: `${PUBLIC_URL}/a2a/a`, needsBearer: false, openIdConnectUrl: undefined, hasExtendedCard: false };

const upstream = await scriptedUpstream(file);
const origins = openOrigins();
atEnd(file, () => origins.close());
const url = `${upstream.url}/rpc`;
const agent = compileFrontedServer("a2a", { name: "a", url, cost_per_call: 1 }, undefined, url);

const card = (version: string): string =>
  JSON.stringify({
    name: "A",
    description: "An agent",
    version,
    supportedInterfaces: [{ url, protocolBinding: "JSONRPC", protocolVersion: "1.0" }],
  });

test("a card is fetched every five minutes, shown for a day while its agent is down, and removed once the agent says so", async () => {
  let now = 0;
  let warned = 0;
  const warn = (): void => {
    warned += 1;
  };
  const cards = createOwnCards({ origins, presenter: staticKeyPresenter(), now: () => now, log: { warn } });
  const version = async (): Promise<unknown> => {
    try {
      return (await cards.of(agent, PUBLIC_URL, TERMS))["version"];
    } catch (error) {
      assert.ok(error instanceof GatewayError);
      return error.code;
    }
  };
  const asked = async (expected: unknown): Promise<number> => {
    const before = upstream.requests.length;
    assert.equal(await version(), expected);
    return upstream.requests.length - before;
  };
  const answering = (status: number, body: string): void => {
    upstream.script = (socket) => reply(socket, { status, headers: ["Content-Type: application/json"], body });
  };

  answering(503, "{}");
  assert.equal(await asked("upstream_unreachable"), 1);
  answering(200, card("1"));
  assert.equal(await asked("upstream_unreachable"), 0);
  now += 10_000;
  assert.equal(await asked("1"), 1);
  answering(200, card("2"));
  now += 5 * MINUTE - 1;
  assert.equal(await asked("1"), 0);
  now += 1;
  assert.equal(await asked("2"), 1);

  upstream.script = (socket) => socket.destroy();
  now += 5 * MINUTE;
  assert.equal(await asked("2"), 1);
  assert.equal(await asked("2"), 0);
  now += 23 * 60 * MINUTE;
  assert.equal(await asked("2"), 1);
  now += 60 * MINUTE;
  assert.equal(await asked("upstream_unreachable"), 1);

  answering(200, card("3"));
  now += 10_000;
  assert.equal(await asked("3"), 1);
  answering(404, "{}");
  now += 5 * MINUTE;
  assert.equal(await asked("upstream_unreachable"), 1);
  answering(200, JSON.stringify({ name: "A", url, protocolVersion: "0.3.0" }));
  now += 10_000;
  assert.equal(await asked("unsupported_version"), 1);
  assert.ok(warned > 0);
  cards.keepOnly([]);
  answering(200, card("4"));
  assert.equal(await asked("4"), 1);
});
