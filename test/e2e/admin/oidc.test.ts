/**
 * People sign in at a real identity provider with the installed verbs, by browser and by device, and use their tokens.
 * Source: specification document 1 (login, logout, admin, query; Authentication).
 */
import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import { type OidcServer, startOidc } from "../support/oidc.ts";
import { createPerson, type Person } from "./support/person.ts";
import { type Plane, startPlane } from "./support/plane.ts";
import { suiteOwner } from "./support/suite.ts";
import { recordsIn } from "./support/trail.ts";

const CLIENT = "gateway-cli";
const POLICY = `
  permit(principal in Role::"local", action, resource);
  permit(principal in Role::"viewer", action in Action::"read", resource);
  permit(principal in Role::"operator", action == Action::"put_suspension", resource);
`;
/** An ID token has the client as its audience. */
const BINDING = {
  audience: CLIENT,
  roles: { claim: "groups", map: { staff: ["viewer"], oncall: ["viewer", "operator"] } },
  login: { client_id: CLIENT, scopes: ["openid", "profile", "groups"] },
};

describe("people who sign in", () => {
  const owner = suiteOwner();
  let provider: OidcServer;
  let plane: Plane;
  before(async () => {
    provider = await startOidc(owner, {
      users: {
        alice: { groups: ["oncall"], preferred_username: "alice.a" },
        bob: { groups: ["staff"] },
        carol: { groups: ["unmapped"] },
      },
    });
    plane = await startPlane(owner, { issuer: provider.issuer, policy: POLICY, binding: BINDING });
  });

  /** Returns the answer of `whoami` over the network with the cached sign-in. */
  async function whoIs(person: Person): Promise<unknown> {
    const { status, stdout, stderr } = await person.run("admin", "-url", plane.url, "whoami");
    assert.equal(status, 0, stderr);
    return JSON.parse(stdout);
  }
  const select = (person: Person, sql: string) => person.run("query", "-url", plane.url, "-o", "json", sql);
  const renewals = () => provider.grants.filter(({ type }) => type === "refresh_token");

  test("a person signs in with a browser, and the verbs then act as that person until sign-out", async (t) => {
    const alice = await createPerson(t);
    const nobody = await alice.run("query", "-url", plane.url, "select 1 one");
    assert.equal(nobody.status, 1);
    assert.match(nobody.stderr, /gateway login/);

    const signedIn = await alice.login(plane.url);
    assert.equal(signedIn.status, 0, signedIn.stderr);
    assert.match(signedIn.stderr, /Signed in to \S+ as alice\.a \(subject alice, roles viewer, operator\) until /);
    assert.deepEqual(await whoIs(alice), { issuer: "corp", subject: "alice", roles: ["viewer", "operator"] });
    const rows = await select(alice, "select name, state from backends");
    assert.equal(rows.status, 0, rows.stderr);
    assert.deepEqual(JSON.parse(rows.stdout), [{ name: "one", state: "idle" }]);

    const suspend = [
      "-url",
      plane.url,
      "-d",
      '{"reason":"incident 42","duration":"1h"}',
      "PUT",
      "suspensions/provider:one",
    ];
    assert.equal((await alice.run("admin", ...suspend)).status, 0);
    const denied = await alice.run("admin", "-url", plane.url, "DELETE", "suspensions/provider:one");
    assert.equal(denied.status, 1);
    assert.match(denied.stderr, /delete_suspension.*Suspension::"provider:one"/);
    const [write] = recordsIn(plane.node.output()).filter(({ data }) => data["action"] === "put_suspension");
    assert.deepEqual([write?.data["principal"], write?.data["principal_name"]], ["corp/alice", "alice.a"]);

    const listed = await alice.run("logout", "-list");
    assert.match(listed.stdout, /alice\.a/);
    assert.equal((await alice.run("logout", plane.url)).status, 0);
    assert.equal(alice.home.read(plane.url), undefined);
    assert.equal((await alice.run("admin", "-url", plane.url, "whoami")).status, 1);
  });

  test("a person signs in on a device, and a refused action is named", async (t) => {
    const bob = await createPerson(t);
    const signedIn = await bob.loginByDevice(provider, "bob", plane.url);
    assert.equal(signedIn.status, 0, signedIn.stderr);
    assert.deepEqual(await whoIs(bob), { issuer: "corp", subject: "bob", roles: ["viewer"] });
    const denied = await bob.run("admin", "-url", plane.url, "-d", '{"name":"k"}', "POST", "keys");
    assert.equal(denied.status, 1);
    assert.match(denied.stdout, /"code":"forbidden".*create_key/);
  });

  test("a person in no mapped group is signed in, and login says that they have no permissions", async (t) => {
    const carol = await createPerson(t);
    const signedIn = await carol.loginByDevice(provider, "carol", plane.url);
    assert.equal(signedIn.status, 0, signedIn.stderr);
    assert.match(signedIn.stderr, /does not let you ask who you are; it may permit you nothing/);
    const tables = await carol.run("query", "-url", plane.url, "-tables");
    assert.equal(tables.status, 1);
    assert.match(tables.stderr, /list_query_tables/);
  });

  test("an expired token is renewed automatically, and only once when two verbs need it at the same time", async (t) => {
    const alice = await createPerson(t);
    await alice.login(plane.url);
    const signIn = alice.home.read(plane.url);
    assert.ok(signIn?.refreshToken !== undefined);
    const from = renewals().length;

    alice.home.write({ ...signIn, expiresAt: 0 });
    assert.equal((await select(alice, "select count(*) n from keys")).status, 0);
    const renewed = alice.home.read(plane.url);
    assert.ok(renewed !== undefined && renewed.token !== signIn.token && renewed.refreshToken !== signIn.refreshToken);
    assert.deepEqual(renewals().slice(from), [{ type: "refresh_token", outcome: "ok" }]);

    alice.home.write({ ...renewed, expiresAt: 0 });
    const both = await Promise.all([select(alice, "select 1 a"), select(alice, "select 2 b")]);
    assert.deepEqual(
      both.map(({ status }) => status),
      [0, 0],
    );
    assert.equal(renewals().length, from + 2);

    // Simulates a gateway that refuses a token which is valid by the local clock.
    const last = alice.home.read(plane.url);
    assert.ok(last !== undefined);
    alice.home.write({ ...last, token: `${last.token.slice(0, -8)}AAAAAAAA` });
    assert.equal((await select(alice, "select 3 c")).status, 0);
    assert.equal(renewals().length, from + 3);
  });

  test("groups from a renewed token apply from then on", async (t) => {
    const bob = await createPerson(t);
    await bob.loginByDevice(provider, "bob", plane.url);
    provider.setUser("bob", { groups: [] });
    const signIn = bob.home.read(plane.url);
    assert.ok(signIn !== undefined);
    assert.deepEqual(await whoIs(bob), { issuer: "corp", subject: "bob", roles: ["viewer"] });
    bob.home.write({ ...signIn, expiresAt: 0 });
    assert.equal((await bob.run("admin", "-url", plane.url, "whoami")).status, 1);
  });

  test("a sign-in whose refresh token is used up ends with a message that says what to do", async (t) => {
    const alice = await createPerson(t);
    await alice.login(plane.url);
    const signIn = alice.home.read(plane.url);
    assert.ok(signIn !== undefined);
    alice.home.write({ ...signIn, expiresAt: 0, refreshToken: "spent" });
    const { status, stderr } = await select(alice, "select 1 one");
    assert.equal(status, 1);
    assert.match(stderr, /has ended.*gateway login/);
  });

  test("an access token in place of an ID token is refused", async (t) => {
    const person = await createPerson(t);
    await person.login(plane.url);
    const signIn = person.home.read(plane.url);
    assert.ok(signIn !== undefined);
    const { access_token } = await provider.tokens("alice");
    person.home.write({ ...signIn, token: access_token, refreshToken: undefined });
    const { status, stderr } = await person.run("admin", "-url", plane.url, "whoami");
    assert.equal(status, 1);
    assert.match(stderr, /not accepted/);
  });

  test("a person can sign in after the provider rotated its key, without a restart", async (t) => {
    await provider.rotateKeys({ isOldKept: false });
    const alice = await createPerson(t);
    const signedIn = await alice.login(plane.url);
    assert.equal(signedIn.status, 0, signedIn.stderr);
    assert.deepEqual(await whoIs(alice), { issuer: "corp", subject: "alice", roles: ["viewer", "operator"] });
  });
});

test("a gateway whose binding names another audience keeps no token, and login says why", async (t) => {
  const provider = await startOidc(t, { users: { alice: { groups: ["staff"] }, mallory: { email: "m@example.com" } } });
  const plane = await startPlane(t, {
    issuer: provider.issuer,
    policy: POLICY,
    binding: { ...BINDING, audience: "another" },
  });
  const alice = await createPerson(t);
  const { status, stderr } = await alice.login(plane.url);
  assert.equal(status, 1);
  assert.match(stderr, /does not accept the ID token.*audience of admin\.issuers\[\]/);
  assert.equal(alice.home.read(plane.url), undefined);
});

test("a person with an unverified address is refused, and an access token for the gateway's own audience is accepted", async (t) => {
  const resource = "https://gateway.example/admin";
  const provider = await startOidc(t, {
    users: { alice: { groups: ["staff"], email: "a@example.com", email_verified: false } },
    resources: { [resource]: { audience: "gateway-admin" } },
  });
  const plane = await startPlane(t, {
    issuer: provider.issuer,
    policy: POLICY,
    binding: {
      ...BINDING,
      audience: "gateway-admin",
      login: { ...BINDING.login, scopes: ["openid", "email", "groups"], extra: { resource }, token: "access" },
    },
  });
  const alice = await createPerson(t);
  const refused = await alice.login(plane.url);
  assert.equal(refused.status, 1, refused.stderr);
  assert.match(refused.stderr, /does not accept the access token/);
  provider.setUser("alice", { groups: ["staff"], email: "a@example.com", email_verified: true });
  const signedIn = await alice.login(plane.url);
  assert.equal(signedIn.status, 0, signedIn.stderr);
  const who = await alice.run("admin", "-url", plane.url, "whoami");
  assert.deepEqual(JSON.parse(who.stdout), { issuer: "corp", subject: "alice", roles: ["viewer"] });
});
