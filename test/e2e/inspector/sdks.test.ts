// tier: long
/**
 * The official SDKs through a real Envoy to a provider, with a node that inspects both directions: redacted text
 * reaches neither side, and a denied answer is the matching error of the SDK. Source: ext-proc reference, A.7.
 */
import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { peer } from "../../peers/index.ts";
import { type FilterModes, startEnvoy } from "../../server/inspector/envoy.ts";
import { raisedBy } from "../support/outcome.ts";
import { clientsOf, simulated } from "../support/simulated.ts";
import { startInspector } from "./support/inspecting.ts";

const envoy = await peer("envoy");

const CARD = "4111 1111 1111 1111";
const MAIL = "ada@example.org";
const SSN = "536-90-4399";

/** Cards are masked before the provider sees them; addresses and personal numbers are searched for in answers alone. */
const GUARDED = {
  guardrails: {
    detectors: [
      { name: "cards", type: "pii", prefilter: "pure", entities: ["CREDIT_CARD"], apply_to: ["user"] },
      { name: "said", type: "pii", prefilter: "pure", entities: ["EMAIL_ADDRESS", "US_SSN"], apply_to: ["output"] },
    ],
    rules: [
      { name: "no-ssn", action: "deny", when: "'pii/US_SSN' in labels", message: "Numbers of persons stay here." },
      { name: "mask", action: "redact" },
    ],
  },
};

const MODEL = "sim-small";
const asking = (content: string) => ({ model: MODEL, messages: [{ role: "user" as const, content }] });

for (const modes of [
  { request: "duplex", response: "duplex" },
  { request: "streamed", response: "duplex" },
  { request: "override", response: "override" },
] as const satisfies readonly FilterModes[]) {
  describe(`requests ${modes.request}, responses ${modes.response}`, { skip: envoy.missing }, async () => {
    if (envoy.missing !== false) return;
    const isDuplex = modes.response === "duplex";
    const provider = await simulated({ after });
    const gateway = await startInspector({ after }, GUARDED, {
      extproc: {
        request_body_mode: modes.request === "duplex" ? "duplex" : "streamed",
        inspect_responses: isDuplex ? "duplex" : "streamed",
      },
    });
    const [inspector, upstream] = [gateway.inspector, new URL(provider.url).host].map((it) =>
      Number(it.split(":").at(-1)),
    );
    const proxy = await startEnvoy(envoy.path, modes, { inspector: inspector ?? 0, upstream: upstream ?? 0 });
    after(() => proxy.stop());
    const { openai, anthropic } = clientsOf(proxy.url);

    const SENT_TEXT = `pay with ${CARD}, and tell ${MAIL}`;
    const isMasked = (text: string | null | undefined): void => {
      assert.match(text ?? "", /<CREDIT_CARD>/);
      assert.match(text ?? "", /<EMAIL_ADDRESS>/);
      assert.ok(!text?.includes(CARD) && !text?.includes(MAIL));
    };

    test("whole answers are redacted both ways", async () => {
      const chat = await openai.chat.completions.create(asking(SENT_TEXT));
      isMasked(chat.choices[0]?.message.content);
      const message = await anthropic.messages.create({ ...asking(SENT_TEXT), max_tokens: 1_000 });
      isMasked(message.content.map((block) => (block.type === "text" ? block.text : "")).join(""));
    });

    test("streams are redacted both ways", async () => {
      const stream = await openai.chat.completions.create({ ...asking(SENT_TEXT), stream: true });
      let output = "";
      for await (const chunk of stream) output += chunk.choices[0]?.delta.content ?? "";
      isMasked(output);
      const messages = anthropic.messages.stream({ ...asking(SENT_TEXT), max_tokens: 1_000 });
      isMasked(await messages.finalText());
    });

    test("a denied answer is a typed error if its status was held back", async () => {
      const denied = asking(`my number is ${SSN}`);
      const raised = await raisedBy(
        openai.chat.completions.create(denied).then((result) => result.choices[0]?.message.content),
      );
      const other = await raisedBy(
        anthropic.messages.create({ ...denied, max_tokens: 1_000 }).then(({ content }) => content.length),
      );
      if (isDuplex) {
        assert.deepEqual([raised.raised, other.raised], ["PermissionDeniedError", "PermissionDeniedError"]);
        assert.match(raised.message, /Numbers of persons stay here/);
        assert.match(other.message, /Numbers of persons stay here/);
      }
      assert.ok(!JSON.stringify([raised, other]).includes(SSN));
    });

    test("a denied stream shows nothing of the denied text and ends in its own format", async () => {
      const denied = asking(`${"word ".repeat(20)} my number is ${SSN}`);
      let output = "";
      let end: string | null | undefined;
      const stream = await openai.chat.completions.create({ ...denied, stream: true }).catch((error: Error) => error);
      if (stream instanceof Error) assert.equal(stream.constructor.name, "PermissionDeniedError");
      else {
        for await (const chunk of stream) {
          output += chunk.choices[0]?.delta.content ?? "";
          end = chunk.choices[0]?.finish_reason ?? end;
        }
        assert.equal(end, "content_filter");
      }
      assert.ok(!output.includes(SSN));
      const other = await raisedBy(anthropic.messages.stream({ ...denied, max_tokens: 1_000 }).finalText());
      assert.match(other.message, /Numbers of persons stay here/);
    });

    test("Envoy expected every one of our messages", async () => {
      const counters = await proxy.counters();
      for (const name of ["spurious_msgs_received", "failure_mode_allowed", "message_timeouts", "streams_failed"]) {
        assert.equal(counters.get(name) ?? 0, 0, `${name}: ${JSON.stringify([...counters])}`);
      }
    });
  });
}
