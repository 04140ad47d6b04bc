/** Requests of a rehearsal, and the text if there is none. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { createAdminClient } from "../../../src/admin-api/index.ts";
import type { RehearsalOutcome, RehearsalRequest } from "../../../src/console/model/rehearsal.ts";
import { rehearse } from "../../../src/console/run/run-rehearsal.ts";
import { atEnd, type Owner } from "../../e2e/support/wait.ts";
import { REHEARSED } from "../../server/admin/support/memory-rehearsals.ts";
import { answer, type Handler, refuse, startPeer } from "../watch/support/peer.ts";

const REQUEST: RehearsalRequest = { source: "default", from: { kind: "document", document: "version: 3\n" } };

interface Rehearsing {
  readonly outcome: RehearsalOutcome;
  /** Bodies of requested rehearsals. */
  readonly bodies: readonly unknown[];
}

async function rehearsing(owner: Owner, request: RehearsalRequest, handler: Handler): Promise<Rehearsing> {
  const bodies: unknown[] = [];
  const peer = await startPeer(owner, "a", (path, response, incoming) => {
    if (path !== "/rehearse") return answer(response, { name: "default", revision: 2, document: "version: 2\n" });
    let text = "";
    incoming.on("data", (part) => {
      text += String(part);
    });
    incoming.on("end", () => {
      bodies.push(JSON.parse(text));
      handler(path, response, incoming);
    });
  });
  const client = createAdminClient({ address: peer.endpoint.endpoint });
  atEnd(owner, () => client.close());
  const ports = {
    readDocument: (file: string) =>
      file === "absent" ? Promise.reject(new Error("no such file")) : Promise.resolve(`# ${file}\n`),
  };
  const wordsOf = (error: unknown): string => (error instanceof Error ? error.message : "");
  const { signal } = new AbortController();
  return { outcome: await rehearse(request, { client, ports, signal, wordsOf }), bodies };
}

const result: Handler = (_, response) => answer(response, REHEARSED);

const REQUESTS: readonly (readonly [from: RehearsalRequest["from"], document: string])[] = [
  [{ kind: "document", document: "version: 3\n" }, "version: 3\n"],
  [{ kind: "file", file: "d.yaml" }, "# d.yaml\n"],
  [{ kind: "revision", revision: 2 }, "version: 2\n"],
];

for (const [from, document] of REQUESTS) {
  test(`the document of a ${from.kind} is rehearsed`, async (t) => {
    const { outcome, bodies } = await rehearsing(t, { source: "default", from }, result);
    assert.deepEqual(outcome, { kind: "done", result: REHEARSED });
    assert.deepEqual(bodies, [{ source: "default", document }]);
  });
}

const NONE: readonly (readonly [name: string, handler: Handler, why: RegExp])[] = [
  ["the policy forbids it", (_, response) => refuse(response, 403, "forbidden"), /^the policy does not permit it$/],
  ["an earlier version", (_, response) => refuse(response, 404, "not_found"), /^the node runs an earlier version$/],
  ["a refused document", (_, response) => refuse(response, 422, "refused"), /^the document would be refused$/],
  ["too many at once", (_, response) => refuse(response, 503, "busy"), /^the gateway is rehearsing other changes$/],
  ["another failure", (_, response) => refuse(response, 500, "internal"), /./],
  ["no answer within 5 s", () => undefined, /^it took longer than 5 s$/],
  [
    "records are off",
    (_, response) => answer(response, { ...REHEARSED, nodes: [], disabled: ["n1"], requests: 0 }),
    /^no node records requests: `GATEWAY_REHEARSAL_MEMORY` is 0$/,
  ],
];

for (const [name, handler, why] of NONE) {
  test(`an empty rehearsal is one line: ${name}`, async (t) => {
    const { outcome } = await rehearsing(t, REQUEST, handler);
    assert.equal(outcome.kind, "none");
    assert.match(outcome.kind === "none" ? outcome.reason : "", why);
  });
}

test("an unreadable file is reported", async (t) => {
  const request = { source: "default", from: { kind: "file", file: "absent" } } as const;
  assert.deepEqual((await rehearsing(t, request, result)).outcome, { kind: "none", reason: "no such file" });
});
