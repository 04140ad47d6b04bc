/**
 * Tokens at the admin listener of a real process: each invalid one is refused with the same words and its fault
 * recorded; keys are fetched on demand and no more often. Source: specification document 1, Authentication, Admin API
 * 4; design decisions, section 1 (JWT).
 */
import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import { eventually } from "../support/wait.ts";
import { type Issuer, startIssuer } from "./support/issuer.ts";
import { type Plane, preparePlane, startPlane } from "./support/plane.ts";
import { refusedOf, send } from "./support/send.ts";
import { suiteOwner } from "./support/suite.ts";
import { recordsIn } from "./support/trail.ts";

const POLICY = 'permit(principal in Role::"viewer", action in Action::"read", resource);';
const MAPPED = { roles: { claim: "groups", map: { staff: ["viewer"] } } };
const FLOOD = 300;

const inSeconds = (from: number): number => Math.floor(Date.now() / 1_000) + from;

describe("tokens", () => {
  const owner = suiteOwner();
  let issuer: Issuer;
  let other: Issuer;
  let plane: Plane;
  before(async () => {
    issuer = await startIssuer(owner);
    other = await startIssuer(owner);
    plane = await startPlane(owner, {
      issuer: issuer.url,
      policy: `${POLICY}\npermit(principal in Role::"local", action, resource);`,
      binding: MAPPED,
    });
  });

  const whoami = (token: string) => send(plane.network, "GET", "/admin/v1/whoami", { token });
  const staff = (claims: Parameters<Issuer["token"]>[0] = {}) => issuer.token({ groups: ["staff"], ...claims });

  test("a token of a person in a mapped group is accepted, and its subject is scoped to its issuer", async () => {
    const { status, text } = await whoami(await staff());
    assert.equal(status, 200, text);
    assert.deepEqual(JSON.parse(text), { issuer: "corp", subject: "alice", roles: ["viewer"] });
  });

  test("a clock skew of half a minute and a list of audiences that includes ours are accepted", async () => {
    for (const claims of [
      { exp: inSeconds(-30), iat: inSeconds(-3_600) },
      { iat: inSeconds(30), nbf: inSeconds(30) },
      { aud: ["another-api", "gateway-admin"] },
      { groups: "staff" },
      { email: "a@example.com", email_verified: true },
    ]) {
      assert.equal((await whoami(await staff(claims))).status, 200, JSON.stringify(claims));
    }
  });

  const recorded = (fault: string): number =>
    recordsIn(plane.node.output()).filter(({ event, data }) => event === "auth.failure" && data["fault"] === fault)
      .length;

  const REFUSED: readonly (readonly [what: string, fault: string, token: () => string | Promise<string>])[] = [
    ["an expired token", "expired", () => staff({ exp: inSeconds(-120), iat: inSeconds(-3_600) })],
    ["a token that never expires", "no_expiry", () => staff({ exp: undefined })],
    ["a token that is not valid yet", "not_yet_valid", () => staff({ nbf: inSeconds(600) })],
    ["a token for another audience", "audience", () => staff({ aud: "data-plane" })],
    ["a token without an audience", "audience", () => staff({ aud: undefined })],
    ["a token for an audience of which ours is a prefix", "audience", () => staff({ aud: "gateway-admin-2" })],
    ["a token of another issuer", "unknown_issuer", () => other.tokenOf("alice", "staff")],
    ["a token of another issuer that names ours", "unknown_key", () => other.token({ iss: issuer.url }, { kid: "k9" })],
    ["a token that another issuer signed under our key id", "signature", () => other.token({ iss: issuer.url })],
    ["a token of our issuer with an extra slash", "unknown_issuer", () => staff({ iss: `${issuer.url}/` })],
    ["a token of a person with an unverified address", "email_not_verified", () => staff({ email_verified: false })],
    ["a token without a subject", "no_subject", () => staff({ sub: undefined })],
    ["a token that declares itself unsigned", "algorithm", () => issuer.unsigned()],
    ["a token signed with the public key as a secret", "algorithm", () => issuer.signedWithPublicKey()],
    ["a text that is not a token", "malformed", () => "not.a.token"],
    ["a modified token", "signature", async () => changed(await staff())],
  ];

  for (const [what, fault, make] of REFUSED) {
    test(`${what} is refused, and the reason appears in the audit trail alone`, async () => {
      const token = await make();
      const before = recorded(fault);
      const answer = await whoami(token);
      assert.equal(answer.status, 401, answer.text);
      assert.equal(answer.headers["www-authenticate"], 'Bearer error="invalid_token"');
      assert.deepEqual(refusedOf(answer), {
        code: "unauthenticated",
        message: "The bearer token is not accepted; `gateway login` obtains a new one.",
        details: {},
      });
      // Above ten a second not all are recorded.
      await eventually(`a record of ${fault}`, async () => {
        if (recorded(fault) === before) await whoami(token);
        return recorded(fault) > before;
      });
      assert.ok(!plane.node.output().includes(token.slice(-40)));
    });
  }

  test("a token outside the Authorization header is ignored, and two tokens are refused", async () => {
    const token = await staff();
    const { network } = plane;
    const attempts = [
      send(network, "GET", `/admin/v1/whoami?access_token=${token}`),
      send(network, "GET", "/admin/v1/whoami", { headers: { cookie: `token=${token}` } }),
      send(network, "GET", "/admin/v1/whoami", { headers: { authorization: `Basic ${token}` } }),
      send(network, "GET", "/admin/v1/whoami", { headers: { authorization: token } }),
      send(network, "GET", "/admin/v1/whoami", { headers: { authorization: `Bearer ${token}, Bearer ${token}` } }),
      send(network, "GET", "/admin/v1/whoami", { headers: { "x-forwarded-user": "alice", "x-remote-user": "root" } }),
    ];
    for (const { status } of await Promise.all(attempts)) assert.equal(status, 401);
  });

  test("a group without a mapping grants nothing", async () => {
    const unmapped = await whoami(await issuer.tokenOf("bob", "unmapped", "viewer", "local"));
    assert.equal(unmapped.status, 403);
    assert.deepEqual(refusedOf(unmapped).details["roles"], []);
  });
});

test("a new signing key is fetched with the first token that names it, and a flood of invented key ids fetches once", async (t) => {
  const issuer = await startIssuer(t);
  const plane = await startPlane(t, {
    issuer: issuer.url,
    policy: `${POLICY}\npermit(principal in Role::"local", action, resource);`,
    binding: MAPPED,
  });
  const statusOf = async (token: string) => (await send(plane.network, "GET", "/admin/v1/whoami", { token })).status;
  assert.equal(issuer.fetches, 0, "nothing is fetched before the first token");
  assert.equal(await statusOf(await issuer.tokenOf("alice", "staff")), 200);
  assert.equal(issuer.fetches, 1);
  const old = await issuer.tokenOf("alice", "staff");
  await issuer.rotate();
  assert.equal(await statusOf(old), 200, "until its keys are fetched anew, they are good");
  assert.equal(await statusOf(await issuer.tokenOf("alice", "staff")), 200);
  assert.equal(issuer.fetches, 2);
  assert.equal(await statusOf(old), 401, "the key was withdrawn");

  const flood = await Promise.all(
    Array.from({ length: FLOOD }, (_, at) => issuer.token({}, { kid: `invented-${at}` })),
  );
  const statuses = new Set<number>();
  // Sends in batches of fifty to approach the maximum rate.
  for (let at = 0; at < FLOOD; at += 50) {
    for (const status of await Promise.all(flood.slice(at, at + 50).map(statusOf))) statuses.add(status);
  }
  assert.deepEqual([...statuses], [401]);
  assert.ok(issuer.fetches <= 3, `${issuer.fetches} fetches`);
  assert.equal(await statusOf(await issuer.tokenOf("alice", "staff")), 200);
});

test("no token can claim the role of a local or loopback caller: mapping a group to it is refused, and a group of that name grants nothing", async (t) => {
  const policy =
    'permit(principal in Role::"local", action, resource); permit(principal in Role::"loopback", action, resource);';
  for (const role of ["local", "loopback"]) {
    const binding = { roles: { map: { staff: ["viewer", role] } } };
    const node = await preparePlane(t, { issuer: "http://127.0.0.1:9", policy, deployment: {}, binding });
    const program = node.launch();
    assert.deepEqual(await program.ended, { status: 10, signal: null }, program.stderr());
    assert.match(program.stderr(), new RegExp(`admin\\.issuers\\[0\\]\\.roles\\.map.*${role}`));
  }
  const issuer = await startIssuer(t);
  const plane = await startPlane(t, { issuer: issuer.url, policy, deployment: { providers: [] } });
  const token = await issuer.tokenOf("alice", "local", "loopback");
  const answer = await send(plane.network, "GET", "/admin/v1/whoami", { token });
  assert.equal(answer.status, 403);
  assert.deepEqual(refusedOf(answer).details["roles"], []);
});

test("a claim that users can edit grants no roles unless the operator declares it trusted", async (t) => {
  for (const claim of ["email", "preferred_username", "upn"]) {
    const options = { issuer: "http://127.0.0.1:9", policy: POLICY, deployment: {} };
    const node = await preparePlane(t, { ...options, binding: { roles: { claim } } });
    const program = node.launch();
    assert.deepEqual(await program.ended, { status: 10, signal: null }, program.stderr());
    assert.match(program.stderr(), new RegExp(`admin\\.issuers\\[0\\]\\.roles.*${claim}[^]*trust_claim`));
  }
  const issuer = await startIssuer(t);
  const plane = await startPlane(t, {
    issuer: issuer.url,
    policy: 'permit(principal in Role::"viewer", action, resource);',
    deployment: { providers: [] },
    binding: { roles: { claim: "email", trust_claim: true, map: { "a@example.com": ["viewer"] } } },
  });
  const token = await issuer.token({ email: "a@example.com" });
  assert.equal((await send(plane.network, "GET", "/admin/v1/whoami", { token })).status, 200);
});

/** Returns the token with another subject under the same signature. */
function changed(token: string): string {
  const [head, claims = "", signature] = token.split(".");
  const text = Buffer.from(claims, "base64url").toString().replace('"alice"', '"root1"');
  return `${head}.${Buffer.from(text).toString("base64url")}.${signature}`;
}
