/** Cache of exchanged tokens: which are kept, and for how long. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { createExchangedTokens } from "../../../../src/server/credentials/tokens/exchanged-tokens.ts";

const kept = (value: string, principal = "p", until = 100) => ({ value, until, principal });

test("a token is found until it expires, and another may replace it", () => {
  const tokens = createExchangedTokens<string>();
  tokens.put("k", kept("a"));
  assert.equal(tokens.find("k", 99), "a");
  assert.equal(tokens.find("other", 0), undefined);
  tokens.put("k", kept("c"));
  assert.equal(tokens.find("k", 0), "c");
  assert.equal(tokens.find("k", 100), undefined);
  assert.equal(tokens.size(), 0);
});

test("a caller has at most a hundred tokens, and across callers the least recently used are dropped", () => {
  const tokens = createExchangedTokens<string>();
  for (let at = 0; at < 150; at++) tokens.put(`k${at}`, kept(`v${at}`, "many"));
  assert.equal(tokens.size(), 100);
  assert.equal(tokens.find("k49", 0), undefined);
  assert.equal(tokens.find("k50", 0), "v50");
  for (let at = 0; at < 9_900; at++) tokens.put(`o${at}`, kept("v", `p${at}`));
  assert.equal(tokens.size(), 10_000);
  tokens.put("one more", kept("v", "q"));
  assert.equal(tokens.size(), 10_000);
  assert.equal(tokens.find("k51", 0), undefined, "k50 was used since");
  assert.equal(tokens.find("k50", 0), "v50");
  tokens.put("k50", kept("w", "another"));
  assert.equal(tokens.find("k50", 0), "w");
  assert.equal(tokens.size(), 10_000);
});
