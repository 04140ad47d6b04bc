import assert from "node:assert/strict";
import { test } from "node:test";
import { RequestCache, type RequestNames } from "../../../../src/server/dataplane/governance/request-cache.ts";
import type { Provider } from "../../../../src/server/upstream/index.ts";

const provider = { name: "one" } as Provider;
const names = (model: string | undefined, more: Partial<RequestNames> = {}): RequestNames => ({
  provider,
  route: "chat_completions",
  model,
  upstreamModel: model,
  ...more,
});

test("requests with the same names share an entry", () => {
  const known = new RequestCache();
  const first = known.entryFor(names("a"));
  assert.equal(known.entryFor(names("a")), first);
  assert.equal(known.entryFor(names(undefined)), known.entryFor(names(undefined)));
});

test("a request that differs in one name has its own entry", () => {
  const known = new RequestCache();
  const all = [
    names("a"),
    names("b"),
    names(undefined),
    names("a", { upstreamModel: "c" }),
    names("a", { route: "embeddings" }),
    names("a", { provider: { name: "one" } as Provider }),
  ].map((request) => known.entryFor(request));
  assert.equal(new Set(all).size, all.length);
});

test("a caller with many models has eight entries, the newest ones", () => {
  const known = new RequestCache();
  const entries = Array.from({ length: 9 }, (_, at) => known.entryFor(names(`model-${at}`)));
  for (const at of [1, 8]) assert.equal(known.entryFor(names(`model-${at}`)), entries[at]);
  assert.notEqual(known.entryFor(names("model-0")), entries[0]);
});

test("a long name is not kept", () => {
  const known = new RequestCache();
  const long = "m".repeat(129);
  assert.notEqual(known.entryFor(names(long)), known.entryFor(names(long)));
  assert.equal(known.entryFor(names("m".repeat(128))), known.entryFor(names("m".repeat(128))));
});
