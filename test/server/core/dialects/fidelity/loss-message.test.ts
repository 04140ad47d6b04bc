import assert from "node:assert/strict";
import { test } from "node:test";
import type { Capability } from "../../../../../src/server/core/dialects/fidelity/capabilities.ts";
import { lossRefusal, shownModelName } from "../../../../../src/server/core/dialects/fidelity/loss-message.ts";
import type { Loss } from "../../../../../src/server/core/dialects/fidelity/losses.ts";
import type { Form } from "../../../../../src/server/core/dialects/routes/routes.ts";

const lost = (capability: Capability, place?: string): Loss => ({ capability, isHard: true, place });

function refused(
  losses: readonly Loss[],
  request: unknown,
  more: { form?: Form; to?: Form; required?: string[] } = {},
) {
  const of = {
    form: "chat" as const,
    to: "messages" as const,
    model: "claude-sonnet-5",
    provider: "anthropic",
    required: [],
    ...more,
  };
  return lossRefusal(losses, { ...of, request });
}

test("a refusal names the field, the model and the remedy, and the field is the parameter", () => {
  assert.deepEqual(refused([lost("sampling")], { temperature: 0.2 }), {
    message:
      "`temperature` (sampling) is not supported by claude-sonnet-5: leave it out, ask for another model, " +
      "or set `on_fidelity_loss: allow` for provider anthropic. " +
      "An overlay's `remove_request_fields` takes it out of every request.",
    param: "temperature",
  });
  assert.match(refused([lost("seed")], { seed: 7 }).message, /^`seed` is not supported by /);
});

test("a loss with several causes is named once, and the capability is the parameter", () => {
  const { message, param } = refused([lost("sampling")], { temperature: 0.2, top_p: 0.3 });
  assert.match(
    message,
    /^`temperature` and `top_p` \(sampling\) are not supported by claude-sonnet-5: leave them out, /,
  );
  assert.equal(param, "sampling");
  const tools = Array.from({ length: 9 }, (_, at) => ({ type: "function", function: { name: `f${at}` } }));
  assert.match(
    refused([lost("tools")], { tools }).message,
    /^`tools\[0\]`, `tools\[1\]`, `tools\[2\]` and 6 more \(tools\) /,
  );
});

test("all losses are reported together", () => {
  const request = { seed: 7, logit_bias: { 1: 2 }, temperature: 0 };
  const { message, param } = refused([lost("sampling"), lost("logit_bias"), lost("seed")], request);
  assert.match(message, /^`temperature` \(sampling\), `logit_bias` and `seed` are not supported by /);
  assert.equal(param, "sampling");
});

test("an untranslatable form is named by its place, and unknown fields by their names", () => {
  const image = { type: "image_url", image_url: { url: "http://example.com/a.png" } };
  const place = "messages[0].content[0].image_url";
  const { message, param } = refused([lost("vision", place)], { messages: [{ role: "user", content: [image] }] });
  assert.ok(message.startsWith(`\`${place}\` as it stands (vision) is not supported by `), message);
  assert.equal(param, place);
  const unknown = refused([lost("unknown_field", "min_p")], { min_p: 0.1, guided_json: {}, messages: [] });
  assert.match(unknown.message, /^`min_p` and `guided_json` \(unknown_field\) are not supported by /);
});

test("places are found in both dialects, inside lists and fields", () => {
  const source = { type: "file", file_id: "f" };
  const message = { role: "user", content: [{ type: "document", source }] };
  const of = (capability: Capability, request: unknown) =>
    refused([lost(capability)], request, { form: "messages", to: "chat" }).param;
  assert.equal(of("file_refs", { messages: [message] }), "messages[0].content[0]");
  assert.equal(of("json_schema", { output_config: { format: { type: "json_schema" } } }), "output_config.format");
  assert.equal(of("strict_tools", { tools: [{ name: "f", strict: true }] }), "tools[0].strict");
  assert.equal(of("tool_choice", { tool_choice: { type: "any" }, tools: [{ name: "f" }] }), "tool_choice");
  assert.equal(of("prefill", { messages: [{ role: "assistant", content: "x" }] }), "messages[0]");
});

test("if the caller's profile requires a capability, the proposed remedy is another model", () => {
  const { message } = refused(
    [lost("strict_tools", "tools[0].function.parameters")],
    {},
    { required: ["strict_tools"] },
  );
  assert.match(message, /ask for another model, since the caller's profile requires this\.$/);
});

test("a model's name is shown on one line and truncated", () => {
  assert.equal(shownModelName("a\nb\u0007é"), "a?b?");
  assert.equal(shownModelName("m".repeat(300)).length, 131);
});

test("a reference to an unstored item is reported with the client setting that helps", () => {
  const input = [
    { role: "user", content: "Hi" },
    { type: "item_reference", id: "msg_1" },
  ];
  const { message, param } = refused([lost("stored_responses")], { input }, { form: "responses" });
  assert.equal(param, "input[1]");
  assert.ok(
    message.startsWith("`input[1]` (stored_responses) is not supported by claude-sonnet-5: leave it out, "),
    message,
  );
  assert.match(message, /Items are not stored for this model: .* set `providerOptions\.openai\.store` to false/);
});
