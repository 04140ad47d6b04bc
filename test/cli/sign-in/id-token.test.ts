/** ID tokens that a sign-in must refuse (OpenID Connect Core, 3.1.3.7). */

import assert from "node:assert/strict";
import { test } from "node:test";
import { offer, startGateway } from "./gateway-with-issuer.ts";
import { type Forgery, startLyingProvider } from "./misbehaving-provider.ts";
import { startLogin } from "./run-login.ts";
import { makeHome } from "./temporary-home.ts";

const past = () => Math.floor(Date.now() / 1_000) - 3_600;

const TABLE: readonly (readonly [what: string, forgery: () => Forgery, words: RegExp | undefined])[] = [
  ["a valid token", () => ({}), undefined],
  ["a token signed with another key", () => ({ isForeignKey: true }), /JWT signature verification failed/],
  ["a token for another client", () => ({ claims: { aud: "other" } }), /unexpected JWT "aud" \(audience\) claim value/],
  [
    "a token of another issuer",
    () => ({ claims: { iss: "https://evil.example" } }),
    /unexpected JWT "iss" \(issuer\) claim value/,
  ],
  ["a token of another sign-in", () => ({ claims: { nonce: "replayed" } }), /unexpected ID Token "nonce" claim value/],
  ["an expired token", () => ({ claims: { exp: past() } }), /unexpected JWT "exp" .*; is the clock right\?/],
  ["no ID token", () => ({ isMissing: true }), /"response" body "id_token" property/],
];

for (const [what, forgery, message] of TABLE) {
  test(`${what} is ${message === undefined ? "stored" : "refused"}`, async (t) => {
    const home = makeHome(t);
    const provider = await startLyingProvider(t);
    const gateway = await startGateway(t, offer({ issuer: provider.issuer }));
    const attempt = startLogin({ home, url: gateway.url });
    const query = new URL(await attempt.address).searchParams;
    await provider.prepare(query.get("nonce") ?? "", forgery());
    const back = new URL(query.get("redirect_uri") ?? "");
    back.search = String(new URLSearchParams({ code: "code", state: query.get("state") ?? "" }));
    const page = await (await fetch(back)).text();
    assert.equal(await attempt.ended, message === undefined ? 0 : 1, attempt.io.err());
    if (message !== undefined) assert.match(attempt.io.err(), message);
    assert.match(page, message === undefined ? /<h1>Signed in/ : /<h1>Not signed in/);
    assert.equal(home.read(gateway.url) !== undefined, message === undefined);
    assert.equal(gateway.requests.length, message === undefined ? 2 : 1, "the gateway is shown sound tokens alone");
  });
}
