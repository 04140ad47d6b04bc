import assert from "node:assert/strict";
import { test } from "node:test";
import type { Capability } from "../../../../../src/server/core/dialects/fidelity/capabilities.ts";
import { type Loss, losses, NO_USES, type Uses } from "../../../../../src/server/core/dialects/fidelity/losses.ts";
import { usesOf } from "../../../../../src/server/core/dialects/fidelity/uses/uses.ts";

const uses = (...capabilities: readonly Capability[]): Uses => ({
  capabilities: new Set(capabilities),
  untranslatable: new Map(),
});
const inForm = (capability: Capability, place: string, of: Uses = uses()): Uses => ({
  ...of,
  untranslatable: new Map([[capability, place]]),
});
const claims = (...names: readonly string[]) => new Set(names);
const names = (lost: readonly Loss[]) => lost.map(({ capability }) => capability);

test("a channel of the same dialect without a list loses nothing", () => {
  const used = inForm("unknown_field", "min_p", uses("logprobs", "n"));
  assert.deepEqual(losses(used, undefined, { caps: undefined }), []);
});

test("a channel of the same dialect loses what its list does not claim, but no form", () => {
  const used = inForm("vision", "messages[0]", uses("vision", "logprobs", "n"));
  assert.deepEqual(losses(used, undefined, { caps: claims("vision", "n") }), [
    { capability: "logprobs", isHard: true, place: undefined },
  ]);
});

test("forms are not checked if nothing is translated", () => {
  const used: Uses = {
    capabilities: new Set(["n"]),
    get untranslatable(): never {
      throw new Error("looked for");
    },
  };
  assert.deepEqual(names(losses(used, undefined, { caps: claims() })), ["n"]);
});

test("translation loses everything without an equivalent, whatever the channel claims", () => {
  const channel = { caps: claims("logprobs", "tools") };
  assert.deepEqual(names(losses(uses("logprobs", "tools"), "chat>messages", channel)), ["logprobs"]);
});

test("translation keeps what a channel without a list can express, and what a list claims", () => {
  const used = uses("tools", "thinking");
  assert.deepEqual(losses(used, "messages>chat", { caps: undefined }), []);
  assert.deepEqual(names(losses(used, "messages>chat", { caps: claims("tools") })), ["thinking"]);
});

test("an emulated capability needs no claim", () => {
  const used = uses("allowed_tools", "stream_usage");
  assert.deepEqual(losses(used, "chat>messages", { caps: claims() }), []);
});

test("effort is a claim of its own: without it, effort is expressed by other means and counted", () => {
  const used = uses("thinking", "effort");
  const lost = [{ capability: "effort", isHard: false, place: undefined }];
  assert.deepEqual(losses(used, "chat>messages", { caps: claims("thinking") }), lost);
  assert.deepEqual(losses(used, "chat>messages", { caps: claims("thinking", "effort") }), []);
});

test("an optional capability without a claim is lost and refuses nothing, even in a hard class", () => {
  const used = uses("thinking_replay");
  assert.deepEqual(losses(used, "messages>chat", { caps: claims() }), [
    { capability: "thinking_replay", isHard: false, place: undefined },
  ]);
  assert.deepEqual(losses(used, "messages>chat", { caps: claims("thinking_replay") }), []);
  assert.deepEqual(losses(used, "chat>messages", { caps: claims() }), [
    { capability: "thinking_replay", isHard: true, place: undefined },
  ]);
});

test("soft losses are separated from hard ones", () => {
  const lost = losses(uses("store", "seed"), "chat>messages", { caps: undefined });
  assert.deepEqual(lost, [
    { capability: "seed", isHard: true, place: undefined },
    { capability: "store", isHard: false, place: undefined },
  ]);
});

test("an untranslatable form is named once, with its place, even if the capability is claimed", () => {
  const place = "messages[0].content[0].image_url";
  const used = inForm("vision", place, uses("vision"));
  assert.deepEqual(losses(used, "chat>messages", { caps: claims("vision") }), [
    { capability: "vision", isHard: true, place },
  ]);
});

test("an unnamed capability is lost only in translation", () => {
  const used = inForm("hint", "messages[0].name");
  const lost = [{ capability: "hint", isHard: false, place: "messages[0].name" }];
  assert.deepEqual(losses(used, "chat>messages", { caps: undefined }), lost);
  assert.deepEqual(losses(used, undefined, { caps: claims() }), []);
});

test("losses are named in vocabulary order, not in request order", () => {
  const used = inForm("documents", "messages[0]", uses("n", "json_object", "custom_tools"));
  const lost = losses(used, "chat>messages", { caps: undefined });
  assert.deepEqual(names(lost), ["custom_tools", "documents", "json_object", "n"]);
});

test("a request that uses nothing loses nothing", () => {
  assert.deepEqual(losses(NO_USES, "chat>messages", { caps: claims() }), []);
});

test("unsigned thinking is a lost hint only if a channel of the other dialect does not receive it", () => {
  const thinking = { type: "thinking", thinking: "Hm", signature: "" };
  const used = usesOf(
    "messages",
    {
      messages: [
        { role: "assistant", content: [thinking] },
        { role: "user", content: "?" },
      ],
    },
    "chat",
  );
  assert.deepEqual(losses(used, "messages>chat", { caps: claims("thinking") }), [
    { capability: "hint", isHard: false, place: "messages[0].content[0].thinking" },
  ]);
  assert.deepEqual(losses(used, "messages>chat", { caps: claims("thinking_replay") }), []);
  assert.deepEqual(losses(used, "messages>chat", { caps: undefined }), []);
  assert.deepEqual(losses(used, undefined, { caps: claims() }), []);
});
