/** Tables of addresses with the forward proxy that each uses. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { readForwardProxies } from "../../../src/server/forward-proxy/index.ts";

const HTTPS_PROXY = "http://proxy.example.com:3128";
const HTTP_PROXY = "http://plain-proxy.example.com:3129";

const throughOf = (url: string, env: Readonly<Record<string, string>>) =>
  readForwardProxies(env).proxies.proxyFor(new URL(url))?.displayAddress;

test("the scheme of an address chooses the variable, and loopback uses no proxy", () => {
  const both = { HTTPS_PROXY, HTTP_PROXY };
  const rows = [
    ["https://api.example.org", HTTPS_PROXY],
    ["wss://api.example.org", HTTPS_PROXY],
    ["http://api.example.org", HTTP_PROXY],
    ["ws://api.example.org", HTTP_PROXY],
    ["https://[2001:db8::1]:8443", HTTPS_PROXY],
    ["https://10.1.2.3", HTTPS_PROXY],
    ["https://localhost", undefined],
    ["https://localhost.:8443", undefined],
    ["https://a.localhost", undefined],
    ["http://127.0.0.1:1", undefined],
    ["http://127.9.9.9", undefined],
    ["http://[::1]:8080", undefined],
    ["http://[::ffff:127.0.0.1]", undefined],
    ["http://0.0.0.0:80", undefined],
    ["https://localhost.example.org", HTTPS_PROXY],
  ] as const;
  for (const [url, through] of rows) assert.equal(throughOf(url, both), through, url);
  assert.equal(throughOf("https://api.example.org", { HTTP_PROXY }), undefined, "HTTP_PROXY is for http alone");
  assert.equal(throughOf("http://api.example.org", { HTTPS_PROXY }), undefined, "HTTPS_PROXY is for https alone");
});

test("each form of NO_PROXY is followed", () => {
  const rows: readonly (readonly [noProxy: string, url: string, isDirect: boolean])[] = [
    ["*", "https://api.example.org", true],
    ["other.org, *", "https://api.example.org", true],
    ["example.org", "https://example.org", true],
    ["example.org", "https://api.example.org", true],
    ["example.org", "https://EXAMPLE.org.", true],
    ["example.org", "https://notexample.org", false],
    ["example.org", "https://example.org.evil.net", false],
    [".example.org", "https://api.example.org", true],
    [".example.org", "https://example.org", true],
    [".example.org", "https://notexample.org", false],
    ["*.example.org", "https://a.b.example.org", true],
    ["EXAMPLE.ORG.", "https://api.example.org", true],
    ["example.org:8443", "https://example.org:8443", true],
    ["example.org:8443", "https://example.org", false],
    ["example.org:443", "https://example.org", true],
    ["example.org:80", "http://example.org", true],
    ["http://example.org/", "https://example.org", true],
    ["10.1.2.3", "https://10.1.2.3", true],
    ["10.1.2.3", "https://10.1.2.4", false],
    ["10.0.0.0/8", "https://10.1.2.3:8443", true],
    ["10.0.0.0/8", "https://11.1.2.3", false],
    ["10.0.0.0/8:8443", "https://10.1.2.3:8443", true],
    ["10.0.0.0/8:8443", "https://10.1.2.3", false],
    ["0.0.0.0/0", "https://10.1.2.3", true],
    ["0.0.0.0/0", "https://api.example.org", false],
    ["10.0.0.0/8", "https://[::ffff:10.1.2.3]", true],
    ["2001:db8::1", "https://[2001:db8::1]", true],
    ["[2001:db8::1]", "https://[2001:db8::1]", true],
    ["[2001:db8::1]:8443", "https://[2001:db8::1]:8443", true],
    ["[2001:db8::1]:8443", "https://[2001:db8::1]", false],
    ["2001:DB8::/32", "https://[2001:db8:1::2]", true],
    ["fd00::/8", "https://[2001:db8::1]", false],
    ["a.org example.org\tb.org", "https://example.org", true],
    ["a.org;example.org", "https://example.org", false],
    ["", "https://example.org", false],
    [" , ,", "https://example.org", false],
  ];
  for (const [NO_PROXY, url, isDirect] of rows) {
    const through = throughOf(url, { HTTPS_PROXY, HTTP_PROXY: HTTPS_PROXY, NO_PROXY });
    assert.equal(through === undefined, isDirect, `${JSON.stringify(NO_PROXY)} ${url}`);
  }
});

test("lower case takes precedence, an empty variable counts as unset, and credentials are never shown", () => {
  const [upper, lower] = ["http://upper:1", "http://lower:1"];
  const at = "https://api.example.org";
  assert.equal(throughOf(at, { HTTPS_PROXY: upper, https_proxy: lower }), lower);
  assert.equal(throughOf(at, { HTTPS_PROXY: upper, https_proxy: "" }), upper);
  assert.equal(throughOf(at, { HTTPS_PROXY: upper, no_proxy: "example.org", NO_PROXY: "other" }), undefined);
  assert.equal(throughOf("http://api.example.org", { http_proxy: lower }), lower);
  assert.equal(throughOf(at, { HTTPS_PROXY: "  proxy.example.com:3128 " }), HTTPS_PROXY);
  assert.equal(throughOf(at, { HTTPS_PROXY: "http://proxy" }), "http://proxy:80");
  assert.equal(throughOf(at, { HTTPS_PROXY: "https://proxy" }), "https://proxy:443");
  const { proxies } = readForwardProxies({ HTTPS_PROXY: "http://us%40er:p%3Ass@[::1]:3128/" });
  const proxy = proxies.proxyFor(new URL(at));
  assert.equal(proxy?.displayAddress, "http://[::1]:3128");
  assert.equal(proxy?.host, "::1");
  assert.equal(proxy?.authorization, `Basic ${Buffer.from("us@er:p:ss").toString("base64")}`);
});

test("an unusable variable is a problem that quotes no credentials", () => {
  const rows = [
    [
      { HTTPS_PROXY: "socks5://user:hunter2@proxy:1080" },
      /^HTTPS_PROXY: proxies of the kind "socks5" are not supported/,
    ],
    [{ HTTPS_PROXY: '"http://user:hunter2@proxy:3128"' }, /^HTTPS_PROXY: remove the quotes around the address$/],
    [{ https_proxy: "'proxy:3128'" }, /^https_proxy: expected the address of a proxy/],
    [{ http_proxy: "http://user:hunter2@" }, /^http_proxy: expected the address of a proxy/],
    [{ HTTPS_PROXY: "http://us%er:hunter2@proxy" }, /^HTTPS_PROXY: the user or password contains a `%`/],
  ] as const;
  for (const [env, expected] of rows) {
    const { problems } = readForwardProxies(env);
    assert.equal(problems.length, 1);
    assert.match(problems[0] ?? "", expected);
    assert.doesNotMatch(problems[0] ?? "", /hunter2/);
  }
});

test("an entry of NO_PROXY that matches nothing is a warning, and the others are honored", () => {
  for (const entry of [
    "10.0.0.0/33",
    "2001:db8::/129",
    "example.org/8",
    "[::1",
    "192.168.*",
    "<local>",
    '"example.net',
    "/run/docker.sock",
  ]) {
    const { proxies, warnings } = readForwardProxies({ HTTPS_PROXY, no_proxy: `${entry},example.org` });
    assert.deepEqual(warnings, [`no_proxy: ${JSON.stringify(entry)} is skipped: it is not a name, address or network`]);
    assert.equal(proxies.proxyFor(new URL("https://example.org")), undefined);
    assert.equal(proxies.proxyFor(new URL("https://example.net"))?.displayAddress, HTTPS_PROXY);
  }
  assert.deepEqual(readForwardProxies({ NO_PROXY: "[::1" }).warnings, [], "nothing is read of it without a proxy");
});
