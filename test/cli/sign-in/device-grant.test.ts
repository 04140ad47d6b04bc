import assert from "node:assert/strict";
import { test } from "node:test";
import { Interrupted } from "../../../src/cli/process-io.ts";
import { startOidc } from "../../e2e/support/oidc.ts";
import { offer, startGateway } from "./gateway-with-issuer.ts";
import { login, startLogin } from "./run-login.ts";
import { makeHome } from "./temporary-home.ts";

const DEVICE = { options: { device: true } };

test("-device signs in by a code, and a machine without a browser does too", async (t) => {
  const provider = await startOidc(t);
  const gateway = await startGateway(t, offer({ issuer: provider.issuer }));
  for (const way of [DEVICE, { io: { env: { BROWSER: "none" } } }]) {
    const home = makeHome(t);
    const { status, io, address } = await login({ home, url: gateway.url, provider, ...way });
    assert.equal(status, 0, io.err());
    assert.equal(address, `${provider.issuer}/device`);
    assert.match(io.err(), /and enter the code\n\n {2}[A-Z]{4}-[A-Z]{4}\n/);
    const { token = "", refreshToken = "" } = home.read(gateway.url) ?? {};
    for (const secret of [token, refreshToken]) assert.ok(secret.length > 20 && !io.err().includes(secret));
  }
});

test("an access token obtained by a code is for the resource of the login block", async (t) => {
  const home = makeHome(t);
  const resource = "https://gateway.example/admin";
  const provider = await startOidc(t, { resources: { [resource]: {} } });
  const gateway = await startGateway(t, offer({ issuer: provider.issuer, token: "access", extra: { resource } }));
  const { status } = await login({ home, url: gateway.url, provider, ...DEVICE });
  assert.equal(status, 0);
  const claims = Buffer.from(home.read(gateway.url)?.token.split(".")[1] ?? "", "base64url");
  assert.equal(JSON.parse(claims.toString()).aud, resource);
});

test("a provider without a device grant is named with the remedy", async (t) => {
  const home = makeHome(t);
  const provider = await startOidc(t, { hasDeviceGrant: false });
  const gateway = await startGateway(t, offer({ issuer: provider.issuer }));
  const { ended, io } = startLogin({ home, url: gateway.url, ...DEVICE });
  assert.equal(await ended, 1);
  assert.equal(
    io.err(),
    `gateway login: the identity provider ${provider.issuer} has no sign-in by code (device grant); sign in where a browser can be opened\n`,
  );
});

test("a person who declines ends the wait", async (t) => {
  const home = makeHome(t);
  const provider = await startOidc(t);
  const gateway = await startGateway(t, offer({ issuer: provider.issuer }));
  const as = { login: "alice", cancels: true };
  const { status, io } = await login({ home, url: gateway.url, provider, as, ...DEVICE });
  assert.equal(status, 1);
  assert.match(io.err(), /refused: access_denied/);
  assert.equal(home.read(gateway.url), undefined);
});

test("a code that is not entered ends the wait when it expires", async (t) => {
  const provider = await startOidc(t, { lifetimes: { deviceCode: 1 } });
  const gateway = await startGateway(t, offer({ issuer: provider.issuer }));
  const { ended, io } = startLogin({ home: makeHome(t), url: gateway.url, ...DEVICE });
  assert.equal(await ended, 1);
  assert.ok(io.err().endsWith("gateway login: nobody entered the code before it expired\n"), io.err());
});

test("an interruption ends the wait at once", async (t) => {
  const home = makeHome(t);
  // Longer than the test may take, so only the signal ends it.
  const provider = await startOidc(t, { deviceInterval: 30 });
  const gateway = await startGateway(t, offer({ issuer: provider.issuer }));
  const stop = new AbortController();
  const attempt = startLogin({ home, url: gateway.url, io: { signal: stop.signal }, ...DEVICE });
  await attempt.address;
  const startedAt = performance.now();
  stop.abort(new Interrupted("SIGINT"));
  await assert.rejects(attempt.ended, Interrupted);
  assert.ok(performance.now() - startedAt < 10_000);
});

test("an extra parameter that the client sets itself is refused", async (t) => {
  const home = makeHome(t);
  const provider = await startOidc(t);
  const gateway = await startGateway(t, offer({ issuer: provider.issuer, extra: { client_id: "other" } }));
  const { ended, io } = startLogin({ home, url: gateway.url, ...DEVICE });
  assert.equal(await ended, 1);
  assert.match(io.err(), /sets 'client_id' in extra/);
});
