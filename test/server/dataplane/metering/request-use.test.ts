/** Entries of a request in the usage ledger: once, where it was used, and without names invented by a caller. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Use } from "../../../../src/server/core/budgets/index.ts";
import { NO_USAGE } from "../../../../src/server/core/dialects/index.ts";
import { beginUse } from "../../../../src/server/dataplane/metering/index.ts";
import { answer, CHAT, chatUsage, events, metered, STREAM } from "./support.ts";

const usage = (input: number) => ({ ...NO_USAGE, inputTokens: input, totalTokens: input });

function begin(of: Partial<Parameters<typeof beginUse>[2]> = {}) {
  const added: Use[] = [];
  const user = { name: "team", profile: { name: "gold" } };
  const asked = { hop: "llm", provider: "p", label: "gpt-*", route: "chat_completions", ...of } as const;
  const use = beginUse({ add: (it) => added.push(it) }, user, asked);
  assert.ok(use !== undefined);
  const addedRows = () =>
    added.map(({ provider, model, requests, failed, tokens, unmeasured, units }) =>
      [provider, model, requests, failed, tokens?.inputTokens ?? "-", unmeasured, units].join(" "),
    );
  return { use, added, addedRows };
}

test("a request is reported once, with its usage", () => {
  const { use, added, addedRows } = begin();
  use.recordAttempt("p", "gpt-x");
  use.addUsage(usage(5), { provider: "p", model: "gpt-x" });
  use.addUnits(7, { provider: "p", model: "gpt-x" });
  use.end(false);
  use.end(true);
  assert.deepEqual(addedRows(), ["p gpt-x 1 0 5 0 7"]);
  assert.deepEqual(
    [added[0]?.hop, added[0]?.caller, added[0]?.profile, added[0]?.kind],
    ["llm", "team", "gold", "tokens"],
  );
});

test("usage of an attempt before a failover stays with its provider", () => {
  const { use, addedRows } = begin();
  use.recordAttempt("p", "gpt-x");
  use.addUsage(usage(5), { provider: "p", model: "gpt-x" });
  use.recordAttempt("q", "other-x");
  use.addUsage(usage(3), { provider: "q", model: "other-x" });
  use.end(false);
  assert.deepEqual(addedRows(), ["p gpt-x 0 0 5 0 0", "q other-x 1 0 3 0 0"]);
});

test("a model that no provider has answered for keeps its configured name", () => {
  const { use, addedRows } = begin();
  use.recordAttempt("p", "whatever a caller writes");
  use.end(true);
  const answered = begin();
  answered.use.recordAttempt("p", "x".repeat(1_000));
  answered.use.end(false);
  assert.deepEqual([addedRows(), answered.addedRows()], [["p gpt-* 1 1 - 0 0"], [`p ${"x".repeat(128)} 1 0 - 0 0`]]);
});

test("a session is reported as it goes and is one request", () => {
  const { use, addedRows } = begin({ isSession: true });
  use.addUsage(usage(5), { provider: "p", model: "rt" });
  use.addUnits(2, { provider: "p", model: "rt" });
  use.countUnmeasured({ provider: "p", model: "rt" });
  use.addUsage(usage(1), { provider: "p", model: "rt" });
  use.end(false);
  assert.deepEqual(addedRows(), ["p rt 0 0 5 0 0", "p rt 0 0 - 0 2", "p rt 0 0 1 1 0", "p rt 1 0 - 0 0"]);
});

test("images and audio are separate from tokens", () => {
  for (const [route, kind] of [
    ["images_generations", "media"],
    ["audio_speech", "media"],
    ["videos", "media"],
    ["embeddings", "tokens"],
    ["responses_ws", "tokens"],
  ] as const) {
    const { use, added } = begin({ route });
    use.end(false);
    assert.equal(added[0]?.kind, kind);
  }
});

test("nothing is reported without a ledger", () => {
  const user = { name: "", profile: { name: undefined } };
  assert.equal(beginUse(undefined, user, { hop: "mcp", provider: "tools" }), undefined);
});

test("streams that end before their usage are counted, and whole answers are not", async () => {
  const cut = await metered({ route: CHAT });
  answer(cut.meter, 200, STREAM, events({ choices: [{ delta: { content: "hi" } }] }));
  cut.meter.close();
  const whole = await metered({ route: CHAT });
  answer(whole.meter, 200, STREAM, events({ choices: [], usage: chatUsage(3, 2) }, "[DONE]"));
  whole.meter.close();
  assert.deepEqual([cut.unmeasured(), whole.unmeasured()], [1, 0]);
});
