/**
 * Claims of a channel for one of its models. Source: provider catalog reference, 2.1; specification document 3
 * (`caps`).
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { applyOverlays, compiledCatalog } from "../../../src/server/core/catalog/index.ts";
import type { ProviderOperation } from "../../../src/server/core/config/index.ts";
import { compileProvider } from "../../../src/server/upstream/index.ts";

const DEFAULTS = { onFidelityLoss: "reject", readsUsage: false } as const;

function channelOf(facts = compiledCatalog().get("anthropic")) {
  assert.ok(facts !== undefined);
  const [channel] = compileProvider(facts, { preset: facts.name }, undefined, DEFAULTS).channels;
  assert.ok(channel !== undefined);
  return channel;
}

test("a model keeps those claims of its channel that it supports", () => {
  const channel = channelOf();
  assert.ok(channel.claims("mid_system") && channel.claims("sampling"));
  const older = channel.forModel("claude-sonnet-4-5");
  assert.deepEqual([older.claims("mid_system"), older.claims("sampling"), older.claims("tools")], [false, true, true]);
  const newer = channel.forModel("claude-opus-5");
  assert.deepEqual([newer.claims("mid_system"), newer.claims("sampling"), newer.claims("tools")], [true, false, true]);
  assert.equal(older.caps?.has("mid_system"), false);
  assert.equal(channel.forModel("claude-sonnet-4-5-20250929"), older);
});

test("claims listed by an operator apply to every model", () => {
  const caps = ["messages", "sampling", "mid_system"] as const;
  const patch: ProviderOperation = {
    op: "patch",
    name: "anthropic",
    channels: [{ op: "replace", id: "messages", caps }],
  };
  const overlay = { name: "site", providers: [patch] };
  const outcome = applyOverlays(compiledCatalog(), [{ source: "site", overlay }]);
  assert.ok(outcome.kind === "catalog", JSON.stringify(outcome));
  const channel = channelOf(outcome.catalog.get("anthropic"));
  assert.ok(channel.forModel("claude-opus-4-7").claims("sampling"));
  assert.ok(channel.forModel("claude-opus-4-7").claims("mid_system"));
});
