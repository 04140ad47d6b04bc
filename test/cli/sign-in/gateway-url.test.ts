import assert from "node:assert/strict";
import { test } from "node:test";
import { parseGatewayUrl } from "../../../src/cli/sign-in/gateway-url.ts";

test("a gateway URL has one normalized form, and plain HTTP over a network is detected", () => {
  const table: readonly (readonly [text: string, url: string, isExposed: boolean])[] = [
    ["https://Gateway.Example:443/", "https://gateway.example", false],
    ["https://gateway.example/prefix//", "https://gateway.example/prefix", false],
    ["https://gateway.example/prefix/admin/v1/", "https://gateway.example/prefix", false],
    ["http://gateway.example:8485", "http://gateway.example:8485", true],
    ["http://10.0.0.7", "http://10.0.0.7", true],
    ["http://127.0.0.1:80", "http://127.0.0.1", false],
    ["http://127.9.9.9:1", "http://127.9.9.9:1", false],
    ["http://[::1]:8485/", "http://[::1]:8485", false],
    ["http://localhost:8485", "http://localhost:8485", false],
    ["http://127.0.0.1.example", "http://127.0.0.1.example", true],
    ["http://localhost.example", "http://localhost.example", true],
  ];
  for (const [text, url, isExposed] of table) assert.deepEqual(parseGatewayUrl(text), { kind: "url", url, isExposed });
});

test("an invalid gateway URL is refused, and a password in it is not quoted", () => {
  const table: readonly (readonly [text: string, words: RegExp])[] = [
    ["gateway.example", /is not a URL/],
    ["gateway.example:8485", /is not a URL/],
    ["ftp://gateway.example", /does not begin with http:\/\/ or https:\/\//],
    ["https://gateway.example/?a=b", /contains a query or a fragment/],
    ["https://u:hidden@gateway.example", /^the URL of the gateway contains a user name or password$/],
    [`https://${"a".repeat(3_000)}`, /is too long/],
  ];
  for (const [text, message] of table) {
    const parsed = parseGatewayUrl(text);
    assert.match(parsed.kind === "refused" ? parsed.reason : "accepted", message);
  }
});
