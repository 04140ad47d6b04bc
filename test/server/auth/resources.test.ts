/** Metadata for clients about the source of their tokens. */

import assert from "node:assert/strict";
import { validateHeaderValue } from "node:http";
import { test } from "node:test";
import fc from "fast-check";
import { challengeOf, protectedResourceMetadata } from "../../../src/server/auth/index.ts";
import { testBinding, testRules } from "./support/callers.ts";

const PUBLIC_URL = "https://gateway.example.com";
const URLS: Readonly<Record<string, string>> = { corp: "https://id.example.com", ci: "https://ci.example.com" };
const urlOf = (issuer: string) => URLS[issuer];

test("a challenge has the scheme, and the metadata address if there is a public one", () => {
  assert.equal(challengeOf(testRules()), 'Bearer realm="gateway"');
  const rules = testRules({ publicUrl: PUBLIC_URL });
  const wellKnown = `${PUBLIC_URL}/.well-known/oauth-protected-resource`;
  assert.equal(challengeOf(rules), `Bearer realm="gateway", resource_metadata="${wellKnown}"`);
  assert.equal(challengeOf(rules, "tickets"), `Bearer realm="gateway", resource_metadata="${wellKnown}/mcp/tickets"`);
});

test("no address can break out of its quotes or of the header", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary", maxLength: 40 }), (text) => {
      const challenge = challengeOf(testRules({ publicUrl: `https://x/${text}` }));
      assert.match(challenge, /^Bearer realm="gateway", resource_metadata="[\x21\x23-\x5b\x5d-\x7e]+"$/);
      validateHeaderValue("www-authenticate", challenge);
    }),
  );
});

test("the gateway and each MCP server have metadata with their bound issuers, each once", () => {
  const issuers = ["corp", "ci", "corp", "gone"].map((issuer) => testBinding({ issuer }));
  const rules = testRules({ publicUrl: PUBLIC_URL, issuers });
  const common = { authorization_servers: Object.values(URLS), bearer_methods_supported: ["header"] };
  assert.deepEqual(protectedResourceMetadata(rules, urlOf), { resource: PUBLIC_URL, ...common });
  assert.deepEqual(protectedResourceMetadata(rules, urlOf, "tickets"), {
    resource: `${PUBLIC_URL}/mcp/tickets`,
    ...common,
    resource_name: "tickets",
  });
});

test("without issuers none are listed, and without a public address there is no metadata", () => {
  const rules = testRules({ publicUrl: PUBLIC_URL, issuers: [] });
  assert.deepEqual(protectedResourceMetadata(rules, urlOf), {
    resource: PUBLIC_URL,
    bearer_methods_supported: ["header"],
  });
  assert.equal(protectedResourceMetadata(testRules(), urlOf), undefined);
});
