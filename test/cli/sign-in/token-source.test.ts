import assert from "node:assert/strict";
import { chmodSync, existsSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { test } from "node:test";
import { Interrupted } from "../../../src/cli/process-io.ts";
import { createTokenSource } from "../../../src/cli/sign-in/index.ts";
import type { SignIn } from "../../../src/cli/sign-in/sign-in-entry.ts";
import { SignInError } from "../../../src/cli/sign-in/sign-in-errors.ts";
import { type Grant, type OidcOptions, type OidcServer, startOidc } from "../../e2e/support/oidc.ts";
import { freePort } from "../../e2e/support/ports.ts";
import type { Owner } from "../../e2e/support/wait.ts";
import { startLyingProvider } from "./misbehaving-provider.ts";
import { type Home, makeHome, signInOf } from "./temporary-home.ts";

const GATEWAY = "https://gateway.example";

interface Setting {
  readonly home: Home;
  readonly provider: OidcServer;
}

/** A sign-in that the provider renews. */
async function signedIn(owner: Owner, over: Partial<SignIn> = {}, options: OidcOptions = {}): Promise<Setting> {
  const home = makeHome(owner);
  const provider = await startOidc(owner, options);
  const { id_token, refresh_token } = await provider.tokens("alice");
  home.write(signInOf(GATEWAY, { issuer: provider.issuer, token: id_token, refreshToken: refresh_token, ...over }));
  return { home, provider };
}

const renewals = ({ provider }: Setting) => provider.grants.filter(({ type }) => type === "refresh_token");

const errorMatching = (message: RegExp) => (error: unknown) => {
  assert.ok(error instanceof SignInError);
  assert.match(error.message, message);
  return true;
};

test("without a sign-in there is no token, and nothing is created", async (t) => {
  const home = makeHome(t);
  const io = home.io();
  assert.equal(await createTokenSource(io, GATEWAY).token(), undefined);
  assert.equal(await createTokenSource(io, GATEWAY).token({ renew: true }), undefined);
  assert.equal(io.err(), "");
  assert.equal(existsSync(home.directory), false);
});

test("a token valid for more than half a minute is returned without a request", async (t) => {
  const home = makeHome(t);
  const now = Date.now();
  for (const expiresAt of [now + 30_000, undefined]) {
    home.write(signInOf(GATEWAY, { expiresAt, refreshToken: "unused" }));
    assert.equal(await createTokenSource(home.io({ now: () => now }), `${GATEWAY}/`).token(), "the-token");
  }
});

test("a token within half a minute of its expiry is renewed, and the rotated refresh token is stored", async (t) => {
  const setting = await signedIn(t, { expiresAt: Date.now() + 29_000 });
  const before = setting.home.read(GATEWAY);
  const token = await createTokenSource(setting.home.io(), GATEWAY).token();
  const after = setting.home.read(GATEWAY);
  assert.equal(after?.token, token);
  assert.notEqual(after?.refreshToken, before?.refreshToken);
  assert.ok((after?.expiresAt ?? 0) > Date.now() + 3_000_000);
  assert.deepEqual(renewals(setting), [{ type: "refresh_token", outcome: "ok" }]);
});

test("with a provider that does not rotate the refresh token stays valid", async (t) => {
  const setting = await signedIn(t, { expiresAt: 0 }, { isRotating: false });
  const before = setting.home.read(GATEWAY)?.refreshToken;
  await createTokenSource(setting.home.io(), GATEWAY).token();
  assert.equal(setting.home.read(GATEWAY)?.refreshToken, before);
  assert.notEqual(before, undefined);
});

test("a refused token is renewed before its expiry, and only that one", async (t) => {
  const setting = await signedIn(t, { token: "old" });
  const source = createTokenSource(setting.home.io(), GATEWAY);
  assert.equal(await source.token(), "old");
  const renewed = await source.token({ renew: true });
  assert.notEqual(renewed, "old");
  // Another process still has the old one and finds the one fetched here.
  assert.equal(await source.token(), renewed);
  assert.equal(renewals(setting).length, 1);
});

test("a process that asks for renewal uses what another has renewed meanwhile", async (t) => {
  const setting = await signedIn(t, { token: "old" });
  const [one, other] = [createTokenSource(setting.home.io(), GATEWAY), createTokenSource(setting.home.io(), GATEWAY)];
  await Promise.all([one.token(), other.token()]);
  const tokens = await Promise.all([one.token({ renew: true }), other.token({ renew: true })]);
  assert.equal(tokens[0], tokens[1]);
  assert.equal(renewals(setting).length, 1);
});

test("an access token is renewed for its own resource", async (t) => {
  const resource = "https://gateway.example/admin";
  const home = makeHome(t);
  const provider = await startOidc(t, { resources: { [resource]: {} } });
  const { access_token, refresh_token } = await provider.tokens("alice", { resource });
  const tokenKind = "access";
  home.write(
    signInOf(GATEWAY, {
      issuer: provider.issuer,
      tokenKind,
      resource,
      token: access_token,
      refreshToken: refresh_token,
      expiresAt: 0,
    }),
  );
  const token = (await createTokenSource(home.io(), GATEWAY).token()) ?? "";
  const claims = JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString());
  assert.equal(claims.aud, resource);
});

test("an interruption does not lose a just received refresh token", async (t) => {
  const stop = new AbortController();
  const onGrant = ({ type }: Grant) => {
    if (type === "refresh_token") stop.abort(new Interrupted("SIGINT"));
  };
  const setting = await signedIn(t, { expiresAt: 0 }, { onGrant });
  const before = setting.home.read(GATEWAY);
  const token = await createTokenSource(setting.home.io({ signal: stop.signal }), GATEWAY).token();
  assert.equal(stop.signal.aborted, true);
  const after = setting.home.read(GATEWAY);
  assert.equal(after?.token, token);
  assert.notEqual(after?.refreshToken, before?.refreshToken);
});

test("an interruption before the refresh token is sent ends the renewal", async (t) => {
  const setting = await signedIn(t, { expiresAt: 0 });
  const signal = AbortSignal.abort(new Interrupted("SIGINT"));
  await assert.rejects(createTokenSource(setting.home.io({ signal }), GATEWAY).token(), Interrupted);
  assert.deepEqual(renewals(setting), []);
});

test("a refused refresh token keeps the sign-in and asks the user to sign in again", async (t) => {
  const setting = await signedIn(t, { expiresAt: 0, refreshToken: "never given" });
  const before = setting.home.read(GATEWAY);
  const asking = createTokenSource(setting.home.io(), GATEWAY).token();
  await assert.rejects(
    asking,
    errorMatching(/^the sign-in at https:\/\/gateway\.example has ended; run `gateway login https/),
  );
  assert.deepEqual(setting.home.read(GATEWAY), before);
  assert.deepEqual(renewals(setting), [{ type: "refresh_token", outcome: "invalid_grant" }]);
});

test("with a provider that renews no ID token the old one is used until it expires, and the new refresh token is stored", async (t) => {
  const home = makeHome(t);
  const provider = await startLyingProvider(t);
  await provider.prepare("", { isMissing: true });
  const now = Date.now();
  const source = () => createTokenSource(home.io({ now: () => now }), GATEWAY);
  home.write(signInOf(GATEWAY, { issuer: provider.issuer, refreshToken: "first", expiresAt: now + 1 }));
  assert.equal(await source().token(), "the-token");
  assert.equal(home.read(GATEWAY)?.refreshToken, "next");
  home.write(signInOf(GATEWAY, { issuer: provider.issuer, refreshToken: "first", expiresAt: now }));
  await assert.rejects(source().token(), errorMatching(/has expired and cannot be renewed; run `gateway login/));
  assert.equal(home.read(GATEWAY)?.refreshToken, "next");
});

test("a process presumed dead sends no refresh token before it has the lock again", async (t) => {
  const home = makeHome(t);
  const lock = home.path(GATEWAY).replace(/json$/, "lock");
  const seen: string[] = [];
  const provider = await startLyingProvider(t, (path) => {
    // Another process takes the lock over during the first discovery, and ends.
    if (seen.length === 0) writeFileSync(lock, JSON.stringify({ host: hostname(), pid: 1, start: "", at: 0 }));
    seen.push(path);
  });
  await provider.prepare("", {});
  home.write(signInOf(GATEWAY, { issuer: provider.issuer, refreshToken: "first", expiresAt: 0 }));
  const token = await createTokenSource(home.io(), GATEWAY).token();
  assert.equal(home.read(GATEWAY)?.token, token);
  const discovery = "/.well-known/openid-configuration";
  assert.deepEqual(seen, [discovery, discovery, "/token"]);
  assert.equal(existsSync(lock), false);
});

test("without a refresh token a sign-in ends with its token", async (t) => {
  const home = makeHome(t);
  const now = Date.now();
  const source = () => createTokenSource(home.io({ now: () => now }), GATEWAY);
  home.write(signInOf(GATEWAY, { expiresAt: now + 1 }));
  assert.equal(await source().token(), "the-token");
  await assert.rejects(
    source().token({ renew: true }),
    errorMatching(/is not accepted any longer and cannot be renewed; run/),
  );
  home.write(signInOf(GATEWAY, { expiresAt: now }));
  await assert.rejects(source().token(), errorMatching(/has expired and cannot be renewed; run `gateway login/));
});

test("while the provider is unreachable the token is used until it expires", async (t) => {
  const home = makeHome(t);
  const issuer = `http://127.0.0.1:${await freePort()}`;
  const now = Date.now();
  const source = () => createTokenSource(home.io({ now: () => now }), GATEWAY);
  home.write(signInOf(GATEWAY, { issuer, refreshToken: "refresh", expiresAt: now + 1 }));
  assert.equal(await source().token(), "the-token");
  const unreachable = errorMatching(
    /^the identity provider http:\/\/127\.0\.0\.1:\d+ could not be reached: ECONNREFUSED$/,
  );
  await assert.rejects(source().token({ renew: true }), unreachable);
  home.write(signInOf(GATEWAY, { issuer, refreshToken: "refresh", expiresAt: now }));
  await assert.rejects(source().token(), unreachable);
  assert.equal(home.read(GATEWAY)?.refreshToken, "refresh");
});

test("a damaged sign-in counts as none and is reported once", async (t) => {
  const home = makeHome(t);
  home.write(signInOf(GATEWAY));
  writeFileSync(home.path(GATEWAY), "{");
  const io = home.io();
  const source = createTokenSource(io, GATEWAY);
  assert.equal(await source.token(), undefined);
  assert.equal(await source.token(), undefined);
  assert.equal(
    io.err(),
    `The sign-in in ${home.path(GATEWAY)} is not used: it is damaged. Run \`gateway login ${GATEWAY}\`.\n`,
  );
});

test("a sign-in that others can read yields no token", async (t) => {
  const home = makeHome(t);
  home.write(signInOf(GATEWAY));
  chmodSync(home.path(GATEWAY), 0o644);
  await assert.rejects(
    createTokenSource(home.io(), GATEWAY).token(),
    errorMatching(
      /other users have access to it .*run `gateway logout https:\/\/gateway\.example`, then `gateway login/,
    ),
  );
});

test("an invalid gateway URL is refused before any file is read", (t) => {
  assert.throws(() => createTokenSource(makeHome(t).io(), "gateway.example"), errorMatching(/is not a URL/));
});
