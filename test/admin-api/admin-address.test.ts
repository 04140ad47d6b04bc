import assert from "node:assert/strict";
import { test } from "node:test";
import { parseAdminUrl } from "../../src/admin-api/index.ts";

const TAKEN: readonly (readonly [text: string, url: string])[] = [
  ["https://gateway.example", "https://gateway.example"],
  ["https://gateway.example/", "https://gateway.example"],
  ["HTTPS://Gateway.Example:443//", "https://gateway.example"],
  ["http://127.0.0.1:8485", "http://127.0.0.1:8485"],
  ["http://[::1]:8485/", "http://[::1]:8485"],
  ["https://example/team/gateway/", "https://example/team/gateway"],
  ["https://example/admin/v1", "https://example"],
  ["https://example/team/admin/v1/", "https://example/team"],
  ["https://example/admin/v12", "https://example/admin/v12"],
];

for (const [text, url] of TAKEN) {
  test(`${text} is the gateway at ${url}`, () => assert.deepEqual(parseAdminUrl(text), { kind: "url", url }));
}

const REFUSED: readonly (readonly [text: string, why: RegExp])[] = [
  ["", /is not a URL/],
  ["gateway.example", /is not a URL/],
  ["gateway.example:8485", /is not a URL/],
  ["https://", /is not a URL/],
  ["unix:///run/gateway.sock", /does not begin with http/],
  ["ftp://gateway.example", /does not begin with http/],
  ["https://user:hunter2@gateway.example", /user name or password/],
  ["https://gateway.example?x=1", /query or a fragment/],
  ["https://gateway.example#x", /query or a fragment/],
];

for (const [text, why] of REFUSED) {
  test(`'${text}' is not a gateway URL`, () => {
    const parsed = parseAdminUrl(text);
    assert.ok(parsed.kind === "refused");
    assert.match(parsed.reason, why);
    assert.doesNotMatch(parsed.reason, /hunter2/);
  });
}
