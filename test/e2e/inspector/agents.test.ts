// tier: long
/**
 * The official SDKs of both agent protocols through a real Envoy with an inspecting node: messages without findings are
 * unchanged, feature by feature; redacted ones are redacted for both sides, and a denial is an error that the SDK
 * raises, also during a stream. Source: ext-proc reference, A.7; mcp reference, 13; a2a reference, 11.
 */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { peer } from "../../peers/index.ts";
import { type FilterModes, startEnvoy } from "../../server/inspector/envoy.ts";
import { startProgram, tellAll } from "../agents/support/programs.ts";
import { atEnd, type Owner } from "../support/wait.ts";
import { startInspector } from "./support/inspecting.ts";

const [envoy, mcp, a2a] = await Promise.all([peer("envoy"), peer("mcp-sdk"), peer("a2a-sdk")]);

/** Keys are searched for in requests, addresses and personal numbers in answers. */
const GUARDED = {
  guardrails: {
    detectors: [
      ...[{ name: "asked", type: "pii", prefilter: "pure", entities: ["AWS_ACCESS_KEY_ID"] }],
      {
        name: "answered",
        type: "pii",
        prefilter: "pure",
        entities: ["EMAIL_ADDRESS", "US_SSN"],
        apply_to: ["output", "tool_result"],
      },
    ],
    rules: [
      { name: "no-key", action: "deny", when: 'annotations.exists(a, a.category == "secret")', message: "Keys stay." },
      { name: "no-ssn", action: "deny", when: "'pii/US_SSN' in labels", message: "Numbers of persons stay here." },
      { name: "mask", action: "redact" },
    ],
  },
};

const MODES = [
  { request: "duplex", response: "duplex" },
  { request: "override", response: "override" },
] as const satisfies readonly FilterModes[];

/** Returns the address of the program at `url` through an Envoy with the filter. */
async function throughEnvoy(owner: Owner, modes: FilterModes, url: string) {
  const gateway = await startInspector(owner, GUARDED, {
    extproc: {
      request_body_mode: modes.request === "duplex" ? "duplex" : "streamed",
      inspect_responses: modes.response === "duplex" ? "duplex" : "streamed",
    },
  });
  const { port, pathname } = new URL(url);
  const inspector = Number(gateway.inspector.split(":").at(-1));
  const proxy = await startEnvoy(envoy.path, modes, { inspector, upstream: Number(port) });
  atEnd(owner, () => proxy.stop());
  return {
    url: `${proxy.url}${pathname}`,
    async expectedAll() {
      const counters = await proxy.counters();
      for (const name of ["spurious_msgs_received", "failure_mode_allowed", "message_timeouts"]) {
        assert.equal(counters.get(name) ?? 0, 0, `${name}: ${JSON.stringify([...counters])}`);
      }
    },
  };
}

interface ClientReport {
  readonly error: { readonly name: string; readonly code: number; readonly message: string };
}

const errorIn = (result: ReadonlyMap<string, unknown>, what: string): ClientReport["error"] => {
  const seen = result.get(what) as ClientReport;
  assert.ok(seen?.error !== undefined, `${what}: ${JSON.stringify(seen)}`);
  return seen.error;
};

for (const modes of MODES) {
  describe(`MCP, requests ${modes.request}, responses ${modes.response}`, {
    skip: envoy.missing || mcp.missing,
  }, () => {
    test("MCP methods are listed, called, redacted and denied; all others match the server's own answers", async (t) => {
      const url = await startProgram(t, "mcp-server.mjs", mcp.path);
      const through = await throughEnvoy(t, modes, url);
      const result = await tellAll("mcp-guarded.mjs", mcp.path, through.url);
      assert.ok((result.get("list") as readonly string[]).includes("echo"));
      assert.deepEqual(result.get("plain"), { text: "hello", logged: [] });
      assert.deepEqual(result.get("redacted"), { text: "mail <EMAIL_ADDRESS>", logged: [] });
      assert.deepEqual(result.get("redacted stream"), {
        text: "relayed",
        logged: ["one", "mail <EMAIL_ADDRESS>", "three"],
      });
      for (const what of ["denied argument", "denied result", "denied stream"]) {
        const { message } = errorIn(result, what);
        assert.match(message, what === "denied argument" ? /Keys stay\./ : /Numbers of persons stay here\./, what);
      }
      // The text before the denial reached the client.
      const { logged } = result.get("denied stream") as { readonly logged: readonly string[] };
      assert.ok(!JSON.stringify([...result]).includes("536-90"), JSON.stringify([...result]));
      assert.deepEqual(logged, ["one"]);
      assert.deepEqual(result.get("afterwards"), { text: "hello again", logged: [] });

      // Messages without findings are the same as without a gateway.
      const direct = await tellAll("mcp-client.mjs", mcp.path, url);
      assert.deepEqual([...(await tellAll("mcp-client.mjs", mcp.path, through.url))], [...direct]);
      await through.expectedAll();
    });
  });

  describe(`A2A, requests ${modes.request}, responses ${modes.response}`, {
    skip: envoy.missing || a2a.missing,
  }, () => {
    test("A2A methods are sent, streamed, redacted and denied; all others match the agent's own answers", async (t) => {
      const url = await startProgram(t, "a2a-agent.mjs", a2a.path);
      const through = await throughEnvoy(t, modes, url);
      const result = await tellAll("a2a-guarded.mjs", a2a.path, through.url);
      assert.deepEqual(result.get("message"), ["you said hello"]);
      assert.deepEqual(result.get("redacted"), ["you said mail <EMAIL_ADDRESS>"]);
      assert.deepEqual(result.get("stream"), { texts: ["one", "two", "three"] });
      assert.deepEqual(result.get("redacted stream"), { texts: ["one", "mail <EMAIL_ADDRESS>", "three"] });
      for (const what of ["denied answer", "denied stream"]) {
        assert.match(errorIn(result, what).message, /Numbers of persons stay here\./, what);
      }
      assert.match(errorIn(result, "denied request").message, /Keys stay\./);
      assert.equal(errorIn(result, "push").name, "PushNotificationNotSupportedError");
      // The text before the denial reached the client.
      assert.deepEqual((result.get("denied stream") as { readonly texts: unknown }).texts, ["one"]);
      assert.ok(!JSON.stringify([...result]).includes("536-90"), JSON.stringify([...result]));
      assert.deepEqual(result.get("afterwards"), ["you said hello again"]);

      // Messages without findings are the same as without a gateway.
      const direct = await tellAll("a2a-client.mjs", a2a.path, url);
      assert.deepEqual([...(await tellAll("a2a-client.mjs", a2a.path, through.url))], [...direct]);
      await through.expectedAll();
    });
  });
}
