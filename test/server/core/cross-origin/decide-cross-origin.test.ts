/** Pages of other origins that are served and may read their answers. Source: design decisions, section 20 (Browsers). */
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  type Arrival,
  decideCrossOrigin,
  preflightHeaders,
  readOrigin,
} from "../../../../src/server/core/cross-origin/index.ts";

const ARRIVAL: Arrival = {
  origin: undefined,
  fetchSite: undefined,
  host: "gateway.corp.example:8080",
  needsCredential: false,
  allowed: undefined,
  publicOrigin: undefined,
};
const LISTED = new Set(["https://app.example", "app://obsidian.md", "chrome-extension://abcdef"]);
const NONE = new Set<string>();
const AUTH = { needsCredential: true };
const PUBLIC = { publicOrigin: "https://gateway.corp.example" };

type Expected = "*" | "echo" | "unlisted" | "refused" | "no page";

const ROWS: readonly (readonly [Expected, Partial<Arrival>])[] = [
  // Without `auth`.
  ["no page", {}],
  ["no page", { fetchSite: "none" }],
  ["no page", { fetchSite: "same-origin" }],
  ["no page", { fetchSite: "same-site" }],
  ["refused", { fetchSite: "cross-site" }],
  ["refused", { fetchSite: "same-origin, cross-site" }],
  ["refused", { fetchSite: "sideways" }],
  ["echo", { origin: "http://localhost:3000" }],
  ["echo", { origin: "https://localhost", fetchSite: "cross-site" }],
  ["echo", { origin: "http://app.localhost:3000" }],
  ["echo", { origin: "http://127.0.0.1:5173" }],
  ["echo", { origin: "http://127.8.9.1" }],
  ["echo", { origin: "http://[::1]:8080" }],
  ["refused", { origin: "null" }],
  ["refused", { origin: "" }],
  ["refused", { origin: "https://evil.example" }],
  ["refused", { origin: "https://evil.example", fetchSite: "same-origin" }],
  ["refused", { origin: "http://localhost.evil.example" }],
  ["refused", { origin: "http://127.0.0.1.evil.example" }],
  ["refused", { origin: "http://127.0.0.1@evil.example" }],
  ["refused", { origin: "http://localhost:3000, https://evil.example" }],
  ["refused", { origin: "http://localhost:3000/path" }],
  ["refused", { origin: "evil://localhost" }],
  ["refused", { origin: "file://" }],
  // The owner of the name may point it here.
  ["refused", { origin: "http://gateway.corp.example:8080" }],
  ["echo", { origin: "http://10.0.0.5:8080", host: "10.0.0.5:8080" }],
  ["echo", { origin: "http://10.0.0.5", host: "10.0.0.5:80" }],
  ["refused", { origin: "http://10.0.0.6:8080", host: "10.0.0.5:8080" }],
  ["echo", { ...PUBLIC, origin: "https://gateway.corp.example" }],
  ["echo", { ...PUBLIC, origin: "https://gateway.corp.example:443" }],
  ["refused", { ...PUBLIC, origin: "http://gateway.corp.example" }],
  ["echo", { allowed: LISTED, origin: "https://app.example" }],
  ["echo", { allowed: LISTED, origin: "https://app.example", fetchSite: "cross-site" }],
  ["echo", { allowed: LISTED, origin: "HTTPS://APP.example:443" }],
  ["echo", { allowed: LISTED, origin: "app://obsidian.md" }],
  ["echo", { allowed: LISTED, origin: "chrome-extension://abcdef" }],
  ["echo", { allowed: LISTED, origin: "http://localhost:3000" }],
  ["refused", { allowed: LISTED, origin: "https://app.example:8443" }],
  ["refused", { allowed: LISTED, origin: "https://sub.app.example" }],
  ["refused", { allowed: NONE, origin: "http://localhost:3000" }],
  // With `auth`.
  ["no page", { ...AUTH }],
  ["no page", { ...AUTH, fetchSite: "cross-site" }],
  ["*", { ...AUTH, origin: "https://evil.example" }],
  ["*", { ...AUTH, origin: "null" }],
  ["*", { ...AUTH, origin: "http://localhost:3000" }],
  ["echo", { ...AUTH, allowed: LISTED, origin: "https://app.example" }],
  ["unlisted", { ...AUTH, allowed: LISTED, origin: "http://localhost:3000" }],
  ["unlisted", { ...AUTH, allowed: LISTED, origin: "null" }],
  ["unlisted", { ...AUTH, allowed: NONE, origin: "https://app.example" }],
  ["echo", { ...AUTH, ...PUBLIC, allowed: NONE, origin: "https://gateway.corp.example" }],
];

for (const [expected, given] of ROWS) {
  test(`a page is ${expected}: ${JSON.stringify(given, (_, it) => (it instanceof Set ? [...it] : it))}`, () => {
    const crossing = decideCrossOrigin({ ...ARRIVAL, ...given });
    const at = crossing?.headers.indexOf("access-control-allow-origin") ?? -1;
    const shown = at < 0 ? undefined : crossing?.headers[at + 1];
    const kind = crossing === undefined ? "no page" : crossing.kind;
    if (expected === "*" || expected === "echo") {
      assert.equal(kind, "allowed");
      assert.equal(shown, expected === "*" ? "*" : given.origin);
      assert.ok(!crossing?.headers.some((name) => /credentials/i.test(name)));
    } else {
      assert.equal(kind, expected);
      assert.equal(shown, undefined);
    }
  });
}

test("an operator may list only single origins", () => {
  const good = ["https://app.example", "http://10.0.0.1:3000", "https://app.example/", "app://obsidian.md"];
  const bad = [
    "*",
    "null",
    "app.example",
    "https://*.example",
    "https://app.example/path",
    "https://a@b",
    "https://",
    "",
  ];
  assert.deepEqual(
    good.filter((it) => readOrigin(it) === undefined),
    [],
  );
  assert.deepEqual(
    bad.filter((it) => readOrigin(it) !== undefined),
    [],
  );
});

const preflight = (asked: Readonly<Record<string, string>>, methods: readonly string[] = ["POST"]) => {
  const pairs = preflightHeaders(asked, { methods, usualHeaders: "Authorization" });
  return Object.fromEntries(pairs.flatMap((name, at) => (at % 2 === 0 ? [[name, pairs[at + 1]]] : [])));
};

test("a preflight is answered with the route's methods and the requested headers", () => {
  const asked = {
    "access-control-request-method": "POST",
    "access-control-request-headers": "authorization,x-stainless-os, content-type",
  };
  assert.deepEqual(preflight(asked), {
    vary: "Access-Control-Request-Method, Access-Control-Request-Headers",
    "access-control-allow-methods": "POST",
    "access-control-allow-headers": "authorization,x-stainless-os, content-type",
    "access-control-max-age": "600",
  });
  assert.equal(
    preflight({ ...asked, "access-control-request-method": "PUT" }, [])["access-control-allow-methods"],
    "PUT",
  );
  assert.equal(preflight({ "access-control-request-method": "a b" }, [])["access-control-allow-methods"], "GET, POST");
  for (const names of ["", "a b", "a:b", ",", "a,,b"]) {
    const { "access-control-allow-headers": shown } = preflight({ ...asked, "access-control-request-headers": names });
    assert.equal(shown, "Authorization", names);
  }
  const near = preflight({ ...asked, "access-control-request-private-network": "true" });
  assert.equal(near["access-control-allow-private-network"], "true");
});
