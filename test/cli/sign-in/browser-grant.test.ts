import assert from "node:assert/strict";
import { chmodSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { Interrupted } from "../../../src/cli/process-io.ts";
import { createTokenSource } from "../../../src/cli/sign-in/index.ts";
import { run } from "../../../src/cli/verbs/login.ts";
import { startOidc } from "../../e2e/support/oidc.ts";
import { freePort } from "../../e2e/support/ports.ts";
import { offer, startGateway } from "./gateway-with-issuer.ts";
import { login, startLogin } from "./run-login.ts";
import { makeHome } from "./temporary-home.ts";

const ALICE = { alice: { preferred_username: "alice", email: "alice@example.com" } };

test("signing in by browser stores the ID token, sends it to the gateway, and prints its expiry", async (t) => {
  const home = makeHome(t);
  const provider = await startOidc(t, { users: ALICE });
  const gateway = await startGateway(t, offer({ issuer: provider.issuer }));
  const { status, io, arrived } = await login({ home, url: `${gateway.url}/`, provider });
  assert.equal(status, 0);
  assert.equal(arrived.status, 200);
  assert.match(arrived.body, /<h1>Signed in<\/h1>\n<p>You may close this window/);
  assert.doesNotMatch(arrived.body, /<script/);

  const kept = home.read(gateway.url);
  const { token = "", refreshToken = "", expiresAt = 0 } = kept ?? {};
  assert.deepEqual(kept, {
    url: gateway.url,
    issuerName: "corp",
    issuer: provider.issuer,
    clientId: "gateway-cli",
    tokenKind: "id",
    resource: undefined,
    callerName: "alice",
    token,
    refreshToken,
    expiresAt,
  });
  assert.deepEqual(gateway.requests, ["GET /admin/v1/login -", `GET /admin/v1/whoami Bearer ${token}`]);
  assert.equal(await createTokenSource(home.io(), gateway.url).token(), token);

  const until = new Date(expiresAt).toISOString().replace(".000", "");
  const end = `Signed in to ${gateway.url} as alice (roles ops, viewer) until ${until}; it is renewed as long as the identity provider allows.\n`;
  assert.ok(io.err().endsWith(end), io.err());
  assert.equal(io.out(), "");
  for (const secret of [token, refreshToken]) assert.ok(secret.length > 20 && !io.err().includes(secret));
});

test("the request has state, nonce and an S256 challenge, the configured scopes and the extra parameters", async (t) => {
  const home = makeHome(t);
  const provider = await startOidc(t);
  const extra = { prompt: "consent", audience: "https://api.example/?a=1&b=2" };
  const gateway = await startGateway(t, offer({ issuer: provider.issuer, scopes: ["openid", "email"], extra }));
  const { status, address } = await login({ home, url: gateway.url, provider });
  assert.equal(status, 0);
  const parameters = Object.fromEntries(new URL(address).searchParams);
  const { state = "", nonce = "", code_challenge = "", redirect_uri = "", ...rest } = parameters;
  for (const random of [state, nonce, code_challenge]) assert.match(random, /^[\w-]{43}$/);
  assert.match(redirect_uri, /^http:\/\/127\.0\.0\.1:\d+\/callback$/);
  assert.deepEqual(rest, {
    response_type: "code",
    client_id: "gateway-cli",
    code_challenge_method: "S256",
    scope: "openid email",
    ...extra,
  });
});

test("an access token is stored if the operator chose it, for the requested resource", async (t) => {
  const home = makeHome(t);
  const resource = "https://gateway.example/admin";
  const provider = await startOidc(t, { users: ALICE, resources: { [resource]: {} } });
  const gateway = await startGateway(
    t,
    offer({ issuer: provider.issuer, scopes: ["openid", "email"], token: "access", extra: { resource } }),
  );
  const { status } = await login({ home, url: gateway.url, provider });
  assert.equal(status, 0);
  const kept = home.read(gateway.url);
  const claims = JSON.parse(Buffer.from(kept?.token.split(".")[1] ?? "", "base64url").toString());
  assert.equal(claims.aud, resource);
  assert.deepEqual([kept?.tokenKind, kept?.resource, kept?.expiresAt], ["access", resource, claims.exp * 1_000]);
});

test("an opaque access token expires when the provider said", async (t) => {
  const home = makeHome(t);
  const provider = await startOidc(t, { lifetimes: { accessToken: 600 } });
  const gateway = await startGateway(t, offer({ issuer: provider.issuer, token: "access" }));
  const before = Date.now();
  await login({ home, url: gateway.url, provider });
  const { expiresAt = 0 } = home.read(gateway.url) ?? {};
  assert.ok(expiresAt >= before + 600_000 && expiresAt <= Date.now() + 600_000);
});

test("the program named by BROWSER is run with the address", async (t) => {
  const home = makeHome(t);
  const provider = await startOidc(t);
  const gateway = await startGateway(t, offer({ issuer: provider.issuer }));
  mkdirSync(home.directory, { recursive: true, mode: 0o700 });
  const script = join(home.directory, "browser");
  const pages = fileURLToPath(new URL("./headless-browser.ts", import.meta.url));
  writeFileSync(script, `#!/bin/sh\nexec '${process.execPath}' --import tsx '${pages}' "$1"\n`);
  chmodSync(script, 0o700);
  const io = home.io({ env: { BROWSER: script } });
  assert.equal(await run({ issuer: undefined, device: false }, [gateway.url], io), 0, io.err());
  assert.equal(home.read(gateway.url)?.callerName, "alice");
});

test("sign-in continues if a browser cannot be started", async (t) => {
  const home = makeHome(t);
  const provider = await startOidc(t);
  const gateway = await startGateway(t, offer({ issuer: provider.issuer }));
  const io = { env: { BROWSER: join(home.directory, "missing") } };
  const { status, io: found } = await login({ home, url: gateway.url, provider, io });
  assert.equal(status, 0);
  assert.match(found.err(), /The browser could not be started\. -device signs in without one\./);
});

test("a refusal by the provider is shown in the terminal and in the browser, and nothing is stored", async (t) => {
  const home = makeHome(t);
  const provider = await startOidc(t);
  const gateway = await startGateway(t, offer({ issuer: provider.issuer }));
  const as = { login: "alice", cancels: true };
  const { status, io, arrived } = await login({ home, url: gateway.url, provider, as });
  assert.equal(status, 1);
  const text = `the identity provider ${provider.issuer} refused: access_denied (End-User aborted interaction)`;
  assert.ok(io.err().endsWith(`gateway login: ${text}\n`), io.err());
  assert.ok(arrived.body.includes(`<p>The sign-in failed: ${text}.</p>`), arrived.body);
  assert.equal(home.read(gateway.url), undefined);
});

test("the provider's description is printed and shown as plain text", async (t) => {
  const home = makeHome(t);
  const provider = await startOidc(t);
  const gateway = await startGateway(t, offer({ issuer: provider.issuer }));
  const attempt = startLogin({ home, url: gateway.url });
  const query = new URL(await attempt.address).searchParams;
  const back = new URL(query.get("redirect_uri") ?? "");
  back.searchParams.set("state", query.get("state") ?? "");
  back.searchParams.set("iss", provider.issuer);
  back.searchParams.set("error", "server_error");
  back.searchParams.set("error_description", "<script>alert(1)</script>\u001b[2J\r\nSigned in");
  const page = await (await fetch(back)).text();
  assert.equal(await attempt.ended, 1);
  assert.ok(page.includes("(&lt;script&gt;alert(1)&lt;/script&gt;\\u001b[2J\\r\\nSigned in)"), page);
  assert.match(attempt.io.err(), /refused: server_error \(<script>alert\(1\)<\/script>\\u001b\[2J\\r\\nSigned in\)\n$/);
});

test("a code from another issuer is not redeemed", async (t) => {
  const home = makeHome(t);
  const provider = await startOidc(t);
  const gateway = await startGateway(t, offer({ issuer: provider.issuer }));
  const attempt = startLogin({ home, url: gateway.url });
  const query = new URL(await attempt.address).searchParams;
  const back = new URL(query.get("redirect_uri") ?? "");
  back.search = String(
    new URLSearchParams({ state: query.get("state") ?? "", iss: "https://evil.example", code: "stolen" }),
  );
  await fetch(back);
  assert.equal(await attempt.ended, 1);
  assert.deepEqual(provider.grants, []);
});

test("a forged answer gets 404, and the sign-in continues", async (t) => {
  const home = makeHome(t);
  const provider = await startOidc(t);
  const gateway = await startGateway(t, offer({ issuer: provider.issuer }));
  const attempt = startLogin({ home, url: gateway.url });
  const address = await attempt.address;
  const back = new URL(new URL(address).searchParams.get("redirect_uri") ?? "");
  back.search = "?code=forged&state=forged";
  assert.equal((await fetch(back)).status, 404);
  await provider.browse(address, { login: "alice" });
  assert.equal(await attempt.ended, 0);
});

test("an interruption ends the wait, closes the listener and stores nothing", async (t) => {
  const home = makeHome(t);
  const provider = await startOidc(t);
  const gateway = await startGateway(t, offer({ issuer: provider.issuer }));
  const stop = new AbortController();
  const attempt = startLogin({ home, url: gateway.url, io: { signal: stop.signal } });
  const redirect = new URL(await attempt.address).searchParams.get("redirect_uri") ?? "";
  stop.abort(new Interrupted("SIGINT"));
  await assert.rejects(attempt.ended, Interrupted);
  await assert.rejects(fetch(redirect));
  assert.deepEqual(readdirSync(home.directory), []);
});

test("an extra parameter that the client sets itself is refused before any request", async (t) => {
  for (const name of ["state", "nonce", "redirect_uri", "code_challenge", "response_type", "scope", "request_uri"]) {
    const home = makeHome(t);
    const provider = await startOidc(t);
    const gateway = await startGateway(t, offer({ issuer: provider.issuer, extra: { [name]: "x" } }));
    const { ended, io } = startLogin({ home, url: gateway.url });
    assert.equal(await ended, 1);
    assert.ok(io.err().includes(`the gateway's login block sets '${name}' in extra`), io.err());
  }
});

test("an issuer that is unreachable or invalid ends with a sentence", async (t) => {
  const home = makeHome(t);
  const notOne = await startGateway(t);
  for (const [issuer, message] of [
    [
      `http://127.0.0.1:${await freePort()}`,
      /^gateway login: the identity provider http:\/\/127\.0\.0\.1:\d+ could not be reached: ECONNREFUSED$/m,
    ],
    ["ldap://x", /^gateway login: the issuer 'ldap:\/\/x' does not begin with https:\/\/$/m],
    [notOne.url, /^gateway login: the identity provider http:\S+: unexpected HTTP response status code$/m],
  ] as const) {
    const gateway = await startGateway(t, offer({ issuer }));
    const { ended, io } = startLogin({ home, url: gateway.url });
    assert.equal(await ended, 1);
    assert.match(io.err(), message);
  }
});

test("the file contains what renewal needs and nothing of the sign-in itself", async (t) => {
  const home = makeHome(t);
  const provider = await startOidc(t);
  const gateway = await startGateway(t, offer({ issuer: provider.issuer }));
  await login({ home, url: gateway.url, provider });
  const kept: unknown = JSON.parse(readFileSync(home.path(gateway.url), "utf8"));
  assert.deepEqual(
    Object.keys(kept ?? {}).sort(),
    ["client_id", "expires_at_ms", "issuer", "refresh_token", "token", "token_kind", "url", "version", "who"].sort(),
  );
});
