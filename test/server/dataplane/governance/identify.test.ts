/** The caller of a request on a connection with several. */
import assert from "node:assert/strict";
import { IncomingMessage } from "node:http";
import { Socket } from "node:net";
import { test } from "node:test";
import { createInstruments, GatewayError } from "../../../../src/base/index.ts";
import { createCallers } from "../../../../src/server/auth/index.ts";
import { identify } from "../../../../src/server/dataplane/governance/identify.ts";
import type { GovernancePorts } from "../../../../src/server/dataplane/ports.ts";
import type { Governance } from "../../../../src/server/snapshot/index.ts";
import { memoryKeys, noVerifier, testRules } from "../../auth/support/callers.ts";
import { testClock } from "../../auth/support/issuer.ts";

function start() {
  const keys = memoryKeys();
  const clock = testClock();
  const instruments = createInstruments();
  const callers = createCallers({ keys, verifier: () => noVerifier, clock, instruments });
  const refused: string[] = [];
  const trail = { recordFailedAuthentication: ({ fault }: { fault: string }) => void refused.push(fault) };
  const governancePorts = { callers, trail } as unknown as GovernancePorts;
  const ask = (socket: Socket, ...headers: string[]): string | undefined => {
    const request = new IncomingMessage(socket);
    request.rawHeaders = headers;
    for (let at = 0; at < headers.length; at += 2) request.headers[headers[at] as string] ??= headers[at + 1];
    try {
      const found = identify(request, { auth: testRules() } as Governance, governancePorts, { requestId: "r" });
      assert.ok(!(found instanceof Promise));
      return `${found.key?.name} ${found.profile}`;
    } catch (error) {
      assert.ok(error instanceof GatewayError, String(error));
      assert.equal(error.code, "unauthenticated");
      return undefined;
    }
  };
  return { keys, clock, refused, ask };
}

const bearer = (text: string): [string, string] => ["authorization", `Bearer ${text}`];

test("each request of a connection belongs to the key it presents", () => {
  const { keys, ask } = start();
  const [one, two] = [keys.mint({ name: "one" }), keys.mint({ name: "two" })];
  const socket = new Socket();
  for (const { text, stored } of [one, one, two, one, two, two]) {
    assert.equal(ask(socket, ...bearer(text)), `${stored.name} undefined`);
  }
});

test("a change after the last request of a connection applies to the next", () => {
  const changes: readonly (readonly [
    string,
    (started: ReturnType<typeof start>, id: string) => void,
    string | undefined,
  ])[] = [
    ["nothing", () => undefined, "k first"],
    ["its profile", ({ keys }, id) => keys.put({ ...keys.findById(id), profile: "other" } as never), "k other"],
    ["its name", ({ keys }, id) => keys.put({ ...keys.findById(id), name: "renamed" } as never), "renamed first"],
    ["its secret", ({ keys }, id) => keys.put({ ...keys.findById(id), digest: "0".repeat(64) } as never), undefined],
    ["that it is there", ({ keys }, id) => keys.remove(id), undefined],
    ["the time", ({ clock }) => clock.advance(3_600_000), undefined],
  ];
  for (const [what, change, expected] of changes) {
    const started = start();
    const expires_at = started.clock.now() + 3_600_000;
    const { text, stored } = started.keys.mint({ name: "k", profile: "first", expires_at });
    const socket = new Socket();
    assert.equal(started.ask(socket, ...bearer(text)), "k first", what);
    assert.equal(started.ask(socket, ...bearer(text)), "k first", what);
    change(started, stored.id);
    assert.equal(started.ask(socket, ...bearer(text)), expected, what);
  }
});

test("a text that differs from the connection's last key is looked up again", () => {
  const { keys, ask, refused } = start();
  const { text } = keys.mint({ name: "k" });
  const socket = new Socket();
  const others: readonly (readonly string[])[] = [
    [],
    bearer(text.slice(0, -1)),
    bearer(`${text}a`),
    bearer(text.replace(/.$/, (last) => (last === "a" ? "b" : "a"))),
    ["authorization", `Basic ${text}`],
    ["authorization", text],
    [...bearer(text), ...bearer(text)],
    ["x-api-key", `${text}a`],
  ];
  for (const headers of others) {
    assert.equal(ask(socket, ...bearer(text)), "k undefined");
    assert.equal(ask(socket, ...headers), undefined, headers.join(" "));
  }
  assert.equal(refused.length, others.length);
  assert.equal(ask(new Socket(), ...bearer(text)), "k undefined");
});
