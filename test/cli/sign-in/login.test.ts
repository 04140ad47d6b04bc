/** `gateway login` around the grants: which gateway, which issuer, and the gateway's answer about the token. */

import assert from "node:assert/strict";
import { existsSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { UsageError } from "../../../src/cli/parse-flags.ts";
import { run } from "../../../src/cli/verbs/login.ts";
import { startOidc } from "../../e2e/support/oidc.ts";
import { freePort } from "../../e2e/support/ports.ts";
import { offer, type Reply, startGateway } from "./gateway-with-issuer.ts";
import { login, startLogin } from "./run-login.ts";
import { makeHome, signInOf } from "./temporary-home.ts";

const PLAIN = { issuer: undefined, device: false };

test("the gateway is the named one, else GATEWAY_ADMIN_URL, else the usage is wrong", async (t) => {
  const home = makeHome(t);
  const [named, other] = [await startGateway(t), await startGateway(t)];
  const io = home.io({ env: { GATEWAY_ADMIN_URL: other.url } });
  await run(PLAIN, [named.url], io);
  assert.deepEqual([named.requests.length, other.requests.length], [1, 0]);
  await run(PLAIN, [], io);
  assert.deepEqual([named.requests.length, other.requests.length], [1, 1]);
  await assert.rejects(run(PLAIN, [], home.io()), UsageError);
  await assert.rejects(run(PLAIN, ["gateway.example"], home.io()), UsageError);
});

const UNUSABLE: readonly (readonly [what: string, reply: Reply, words: RegExp])[] = [
  ["has no login block", { status: 404 }, /offers no sign-in; its operator has not written a login block/],
  ["lists no issuer", { status: 200, body: { issuers: [] } }, /offers no sign-in/],
  ["fails", { status: 500 }, /answered 500 when asked how to sign in/],
  ["redirects", { status: 302 }, /answered 302 when asked how to sign in/],
  ["is another server", { status: 200, body: "hello" }, /cannot be understood; is it the admin address of a gateway\?/],
  [
    "sends an unknown answer",
    { status: 200, body: { issuers: [offer({ issuer: "x", token: "both" })] } },
    /cannot be under/,
  ],
  ["sends an oversized answer", { status: 200, body: { issuers: "x".repeat(70_000) } }, /is longer than 65536 bytes/],
];
for (const [what, reply, message] of UNUSABLE) {
  test(`a gateway that ${what} ends the sign-in with a sentence`, async (t) => {
    const gateway = await startGateway(t);
    gateway.login = reply;
    const io = makeHome(t).io();
    assert.equal(await run(PLAIN, [gateway.url], io), 1);
    assert.match(io.err(), message);
    assert.match(io.err(), /^gateway login: [^\n]+\n$/);
  });
}

test("an unreachable gateway is status 3", async (t) => {
  const url = `http://127.0.0.1:${await freePort()}`;
  const io = makeHome(t).io();
  assert.equal(await run(PLAIN, [url], io), 3);
  assert.equal(io.err(), `gateway login: ${url} could not be reached: ECONNREFUSED\n`);
});

test("among several issuers an existing one must be named", async (t) => {
  const home = makeHome(t);
  const provider = await startOidc(t);
  const other = offer({ name: "partners", issuer: "https://login.partner.example" });
  const gateway = await startGateway(t, other, offer({ issuer: provider.issuer }));
  const asking = (issuer: string | undefined) => run({ issuer, device: false }, [gateway.url], home.io());
  await assert.rejects(asking(undefined), {
    name: "UsageError",
    message: "the gateway trusts several issuers; name one with -issuer: partners, corp",
  });
  await assert.rejects(asking("corpse"), {
    name: "UsageError",
    message: "the gateway has no issuer 'corpse' to sign in at; it has partners, corp",
  });
  const { status } = await login({ home, url: gateway.url, provider, options: { issuer: "corp" } });
  assert.equal(status, 0);
  assert.equal(home.read(gateway.url)?.issuerName, "corp");
});

test("a token that the gateway refuses is not stored, and the likely cause is named", async (t) => {
  const home = makeHome(t);
  const provider = await startOidc(t);
  const gateway = await startGateway(t, offer({ issuer: provider.issuer }));
  gateway.whoami = () => ({ status: 401 });
  const { status, io } = await login({ home, url: gateway.url, provider });
  assert.equal(status, 1);
  assert.match(io.err(), /does not accept the ID token of 'corp'.* the client id 'gateway-cli'; the gateway's log/);
  assert.equal(home.read(gateway.url), undefined);
});

test("a caller without permissions, or with a failing gateway, is signed in with a message", async (t) => {
  const home = makeHome(t);
  const provider = await startOidc(t);
  const gateway = await startGateway(t, offer({ issuer: provider.issuer }));
  const replies = [
    [{ status: 403 }, /as alice until \S+;.*\nThe gateway accepts the token, but its policy/],
    [
      { status: 503 },
      /^Signed in as alice until \S+;.*\nWhether http:\S+ accepts the token is not known: it answered 503\.$/m,
    ],
  ] as const;
  for (const [reply, message] of replies) {
    gateway.whoami = () => reply;
    const { status, io } = await login({ home, url: gateway.url, provider });
    assert.equal(status, 0);
    assert.match(io.err(), message);
    assert.equal(home.read(gateway.url)?.callerName, "alice");
  }
});

test("the subject is shown if it differs from the name, and missing roles are mentioned", async (t) => {
  const home = makeHome(t);
  const provider = await startOidc(t, { users: { alice: { preferred_username: "Alice\u001b[31m" } } });
  const gateway = await startGateway(t, offer({ issuer: provider.issuer }));
  gateway.whoami = () => ({ status: 200, body: { issuer: "corp", subject: "u-1", roles: [] } });
  const { io } = await login({ home, url: gateway.url, provider });
  assert.match(io.err(), / as Alice\\u001b\[31m \(subject u-1, no roles\) until /);
});

test("a new sign-in replaces a damaged or unsafe one", async (t) => {
  const home = makeHome(t);
  const provider = await startOidc(t);
  const gateway = await startGateway(t, offer({ issuer: provider.issuer }));
  home.write(signInOf(gateway.url));
  writeFileSync(home.path(gateway.url), "{", { mode: 0o644 });
  const { status } = await login({ home, url: gateway.url, provider });
  assert.equal(status, 0);
  assert.equal(home.read(gateway.url)?.issuer, provider.issuer);
});

test("plain HTTP over a network causes a warning", {
  skip: process.platform !== "linux" && "0.0.0.0 dials here on Linux",
}, async (t) => {
  const gateway = await startGateway(t);
  const url = gateway.url.replace("127.0.0.1", "0.0.0.0");
  const { ended, io } = startLogin({ home: makeHome(t), url });
  assert.equal(await ended, 1);
  assert.ok(io.err().startsWith(`Warning: ${url} is not https: the token travels unencrypted.\n`), io.err());
});

test("if no token could be stored nobody is asked to sign in", async (t) => {
  const home = makeHome(t);
  const provider = await startOidc(t);
  const gateway = await startGateway(t, offer({ issuer: provider.issuer }));
  const io = home.io({ env: { XDG_STATE_HOME: "/dev/null" } });
  assert.equal(await run(PLAIN, [gateway.url], io), 1);
  assert.match(io.err(), /^gateway login: \/dev\/null\/gateway cannot be created: ENOTDIR\n$/);
  assert.deepEqual(gateway.requests, []);
  assert.equal(existsSync(home.directory), false);
});
