/** The credential of a request that decides, and missing ones, from node:http requests. */

import assert from "node:assert/strict";
import { createServer } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { after, before, test } from "node:test";
import { createCallers, type PresentedCredentials, presentedCredentials } from "../../../src/server/auth/index.ts";
import { memoryKeys, noVerifier, outcome, presented, testRules } from "./support/callers.ts";
import { testClock } from "./support/issuer.ts";

const keys = memoryKeys();
const callers = createCallers({ keys, verifier: () => noVerifier, clock: testClock() });
const good = keys.mint().text;
const other = keys.mint().text;
const rules = testRules({ issuers: [] });
const recognize = (from: PresentedCredentials) => outcome(callers, from, { rules });

let seen: PresentedCredentials | undefined;
const server = createServer((request, response) => {
  seen = presentedCredentials(request, request.headers["x-protocol-token"]?.toString());
  response.end();
});
before(() => new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve)));
after(() => new Promise((resolve) => server.close(resolve)));

/** Parses a request with these header lines. */
async function read(...lines: readonly string[]): Promise<PresentedCredentials> {
  const { port } = server.address() as AddressInfo;
  seen = undefined;
  const socket = connect(port, "127.0.0.1");
  socket.end(["GET / HTTP/1.1", "host: x", "connection: close", ...lines, "", ""].join("\r\n"));
  for await (const _ of socket.resume());
  assert.ok(seen, "the server refused the request itself");
  return seen;
}

test("a key is found in each of its places", async () => {
  for (const line of [
    `authorization: Bearer ${good}`,
    `Authorization: bearer ${good}`,
    `AUTHORIZATION: BEARER   ${good}  `,
    `x-api-key: ${good}`,
    `Api-Key: ${good}`,
    `x-protocol-token: ${good}`,
  ]) {
    assert.equal(await recognize(await read(line)), "key", line);
  }
});

test("the first location decides, whatever the others have", async () => {
  const lines = [`authorization: Bearer BAD`, "x-api-key: BAD", "api-key: BAD", "x-protocol-token: BAD"];
  for (const [at, line] of lines.entries()) {
    const worse = lines.slice(at + 1);
    assert.equal(await recognize(await read(line.replace("BAD", good), ...worse)), "key", line);
    assert.equal(await recognize(await read(line, ...worse.map((it) => it.replace("BAD", good)))), "malformed", line);
  }
});

test("a header that occurs twice is malformed, even with one value", async () => {
  for (const name of ["authorization: Bearer", "Authorization: Bearer", "x-api-key:", "api-key:"]) {
    assert.equal(await recognize(await read(`${name} ${good}`, `${name} ${good}`)), "malformed", name);
    assert.equal(await recognize(await read(`${name} ${good}`, `${name} ${other}`)), "malformed", name);
  }
  assert.equal(await recognize(await read(`authorization: Bearer ${good}`, `AUTHORIZATION: Basic x`)), "malformed");
});

test("another scheme, or a scheme without a credential, is an unrecognized credential", async () => {
  for (const value of ["Basic dXNlcjpwYXNz", "Bearer", "Bearer ", "", good, `Bearer${good}`, `Bearer\t${good}`]) {
    assert.equal(await recognize(await read(`authorization: ${value}`, `x-api-key: ${good}`)), "malformed", value);
  }
  assert.equal(await recognize(await read("x-api-key:", `api-key: ${good}`)), "malformed");
  assert.equal(await recognize(presented({ protocolToken: "" })), "malformed");
});

test("records distinguish a missing credential from a bad one", async () => {
  assert.equal(await recognize(await read("x-other: 1")), "no_credential");
});

test("a credential longer than any token is malformed in every location", async () => {
  const long = "a".repeat((16 << 10) + 1);
  for (const from of [
    { authorization: `Bearer ${long}` },
    { xApiKey: long },
    { apiKey: long },
    { protocolToken: long },
    { xApiKey: `gwk_${long}` },
  ]) {
    assert.equal(await recognize(presented(from)), "malformed");
  }
});
