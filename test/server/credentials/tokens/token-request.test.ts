/**
 * Requests to a token endpoint, and handling of any answer, over plain sockets. Source: RFC 6749 sections 2.3.1 and 5;
 * credentials reference, 3.
 */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { fetchUnshared } from "../../../../src/base/index.ts";
import { guardedLookup, isForbiddenAddress } from "../../../../src/server/credentials/guarded-lookup.ts";
import { clientCredentials, TokenUnavailable } from "../../../../src/server/credentials/tokens/client-credentials.ts";
import { createSharedTokenRequest } from "../../../../src/server/credentials/tokens/shared-token.ts";
import { openTokenDialer } from "../../../../src/server/credentials/tokens/token-dialer.ts";
import type { ClientCredential } from "../../../../src/server/credentials/types.ts";
import { type Recorded, reply, scriptedUpstream } from "../../../e2e/support/upstream.ts";
import { atEnd } from "../../../e2e/support/wait.ts";

const file = { after };
const endpoint = await scriptedUpstream(file);
const dialer = openTokenDialer(undefined, 1_000);
atEnd(file, () => dialer.close());

const NOW = Date.UTC(2026, 10, 23);
const ID = "3f1c-4.a_b~c";
const SECRET = "s3cr:t/+ %é";

const credential = (facts: Partial<ClientCredential> = {}): ClientCredential => ({
  kind: "oauth",
  name: "own",
  digest: "",
  tokenUrl: `${endpoint.url}/token?tenant=a`,
  clientId: ID,
  clientSecret: SECRET,
  scopes: [],
  ...facts,
});
const fetching = (facts?: Partial<ClientCredential>) =>
  clientCredentials(credential(facts), {
    dialer,
    request: createSharedTokenRequest(fetchUnshared, () => NOW),
    now: () => NOW,
  });

const JSON_TYPE = ["Content-Type: application/json"];
const answers = (body: unknown, status = 200, headers: readonly string[] = JSON_TYPE): void => {
  endpoint.script = (socket) =>
    reply(socket, { status, headers, body: typeof body === "string" ? body : JSON.stringify(body) });
};
const formOf = ({ body }: Recorded) => Object.fromEntries(new URLSearchParams(body.toString()));
const headerOf = ({ headers }: Recorded, name: string) => headers.find(([it]) => it.toLowerCase() === name)?.[1];
const jwt = (claims: object) =>
  ["{}", JSON.stringify(claims), ""].map((it) => Buffer.from(it).toString("base64url")).join(".");

test("the grant is sent as a form, with scopes if there are any, and no refresh token is kept", async () => {
  answers({ access_token: "t", token_type: "bearer", expires_in: 60, refresh_token: "never" });
  assert.deepEqual(await fetching()(), { value: "t", lifeMs: 60_000, ageMs: 0, isOwn: true });
  const first = endpoint.requests.at(-1) as Recorded;
  assert.equal(first.target, "/token?tenant=a");
  assert.deepEqual(formOf(first), { grant_type: "client_credentials", client_id: ID, client_secret: SECRET });
  assert.equal(headerOf(first, "authorization"), undefined);
  await fetching({ scopes: ["a", "b"] })();
  assert.equal(formOf(endpoint.requests.at(-1) as Recorded)["scope"], "a b");
});

test("an endpoint that accepts only the header is detected once, and ids are encoded only where necessary", async () => {
  const isBasic = (request: Recorded): boolean => headerOf(request, "authorization") !== undefined;
  for (const [status, headers] of [
    [401, [...JSON_TYPE, 'WWW-Authenticate: Basic realm="x", error="invalid_client"']],
    [401, JSON_TYPE],
    [400, JSON_TYPE],
  ] as const) {
    endpoint.script = (socket, request) =>
      isBasic(request)
        ? reply(socket, { headers: JSON_TYPE, body: '{"access_token":"t","token_type":"Bearer"}' })
        : reply(socket, { status, headers, body: '{"error":"invalid_client","error_description":"CANARY"}' });
    const fetch = fetching();
    const from = endpoint.requests.length;
    assert.equal((await fetch()).value, "t");
    assert.equal((await fetch()).value, "t");
    const asked = endpoint.requests.slice(from);
    assert.deepEqual(asked.map(isBasic), [false, true, true]);
    const pair = Buffer.from(headerOf(asked[1] as Recorded, "authorization")?.slice(6) ?? "", "base64").toString();
    assert.equal(pair, `${ID}:s3cr%3At%2F%2B+%25%C3%A9`);
    assert.equal(formOf(asked[1] as Recorded)["client_secret"], undefined, "never both at once");
  }
});

test("a token's lifetime is the stated one, else that of its claims, else five minutes", async () => {
  const exp = NOW / 1_000 + 90;
  for (const [body, lifeMs] of [
    [{ access_token: "t", token_type: "Bearer", expires_in: "3600" }, 3_600_000],
    [{ access_token: "t", token_type: "Bearer", expires_in: 0 }, 0],
    [{ access_token: "t", token_type: "Bearer", expires_in: 1e9 }, 86_400_000],
    [{ access_token: "t", token_type: "Bearer" }, 300_000],
    [{ access_token: jwt({ exp }), token_type: "Bearer" }, 90_000],
    [{ access_token: jwt({ exp: 1 }), token_type: "Bearer" }, 300_000],
  ] as const) {
    answers(body);
    assert.equal((await fetching()()).lifeMs, lifeMs, JSON.stringify(body));
  }
});

/** Body, status, headers; then the reason, and whether it needs another configuration. */
const FAILURES: readonly (readonly [unknown, number, readonly string[], RegExp, boolean])[] = [
  [
    { error: "invalid_scope", error_description: "CANARY" },
    400,
    JSON_TYPE,
    /^the endpoint answers 400 invalid_scope$/,
    true,
  ],
  [{ error: "temporarily_unavailable" }, 400, JSON_TYPE, /temporarily_unavailable/, false],
  [{ error: "CANARY IN THE CODE" }, 400, JSON_TYPE, /unreadable/, true],
  [{ error: "invalid_client", trace_id: "a-b-c" }, 401, JSON_TYPE, /401 invalid_client, trace_id a-b-c$/, true],
  [{ error: "slow" }, 429, [...JSON_TYPE, "Retry-After: 7"], /^the endpoint answers 429$/, false],
  ["CANARY", 503, ["Content-Type: text/plain"], /^the endpoint answers 503$/, false],
  ["", 307, ["Location: http://127.0.0.1:1/token"], /^the endpoint answers 307$/, false],
  ["<html>CANARY</html>", 200, ["Content-Type: text/html"], /contains no token$/, false],
  [{ token_type: "Bearer" }, 200, JSON_TYPE, /contains no token$/, false],
  [{ access_token: "CANARY", token_type: "DPoP" }, 200, JSON_TYPE, /did not return a bearer token$/, true],
  [{ access_token: "CANARY", token_type: "N_A" }, 200, JSON_TYPE, /did not return a bearer token$/, true],
  [{ access_token: "two words", token_type: "Bearer" }, 200, JSON_TYPE, /not printable/, true],
  [{ access_token: "x".repeat(17_000), token_type: "Bearer" }, 200, JSON_TYPE, /too long for a header/, true],
  ["x".repeat(70_000), 200, JSON_TYPE, /^its answer is longer than 65536 bytes$/, false],
];

test("an answer that is not a token is reported by status and code alone", async () => {
  for (const [body, status, headers, reason, isPermanent] of FAILURES) {
    answers(body, status, headers);
    const from = endpoint.requests.length;
    await assert.rejects(fetching()(), (error) => {
      assert.ok(error instanceof TokenUnavailable);
      assert.match(error.reason, reason);
      assert.equal(error.isPermanent, isPermanent, error.reason);
      assert.equal(error.code, "credential_unavailable");
      const text = `${error.message} ${error.reason} ${error.stack} ${JSON.stringify(error.cause ?? "")}`;
      assert.ok(!text.includes("CANARY") && !text.includes(SECRET), text);
      if (status === 429) assert.equal(error.pauseMs, 7_000);
      return true;
    });
    assert.ok(endpoint.requests.length - from <= 2);
  }
  endpoint.script = (socket) => socket.destroy();
  await assert.rejects(fetching()(), { reason: /^the endpoint cannot be reached/ });
  await assert.rejects(fetching({ tokenUrl: "http://nothing.invalid/token" })(), { reason: /cannot be reached/ });
});

test("metadata addresses that serve machine keys are not called, under any name", async () => {
  for (const address of [
    "169.254.169.254",
    "169.254.170.2",
    "0.0.0.0",
    "fe80::1",
    "fd00:ec2::254",
    "::",
    "::ffff:169.254.169.254",
  ]) {
    assert.ok(isForbiddenAddress(address), address);
  }
  for (const address of ["127.0.0.1", "10.0.0.1", "::1", "fd12::1", "93.184.216.34"]) {
    assert.ok(!isForbiddenAddress(address), address);
  }
  for (const host of ["169.254.169.254", "[fd00:ec2::254]", "[::ffff:169.254.169.254]", "2852039166"]) {
    await assert.rejects(fetching({ tokenUrl: `http://${host}/token` })(), { reason: /link-local/ });
  }
  const looked = (host: string): Promise<string> =>
    new Promise((resolve, reject) => {
      guardedLookup(host, {}, (error, address) => (error === null ? resolve(String(address)) : reject(error)));
    });
  await assert.rejects(looked("169.254.169.254"), /link-local/);
  assert.equal(await looked("127.0.0.1"), "127.0.0.1");
});
