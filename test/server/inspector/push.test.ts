/**
 * Agents asked to push their results elsewhere, bypassing the inspection of answers: refused in the protocol's own
 * format if answers are inspected. Source: a2a reference, 3 and 7.
 */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { nullLog } from "../../../src/base/index.ts";
import { beginInspection, type InspectionOptions, type Verdict } from "../../../src/server/inspector/index.ts";
import { shapedRefusal } from "../../../src/server/inspector/refusal-shape.ts";
import { countedMetrics, guardOf } from "../dataplane/support/guards.ts";

const reading = (...kinds: readonly string[]) =>
  guardOf({
    detectors: [{ name: "cards", type: "pii", prefilter: "pure", entities: ["CREDIT_CARD"], apply_to: kinds }],
    rules: [{ name: "mask", action: "redact", operator: "replace" }],
  });
const OF_ANSWERS = reading("user", "output");
const OF_REQUESTS = reading("user");

async function inspectRequest(path: string, body: string, guard = OF_ANSWERS, inspectsResponses = true) {
  const headers = [":method", "POST", ":path", path, "content-type", "application/json"];
  const { inspect } = beginInspection({
    guardrails: () => ({ of: () => guard }) as unknown as ReturnType<InspectionOptions["guardrails"]>,
    sinks: { trail: undefined, metrics: countedMetrics().metrics, log: nullLog },
    inspectsResponses,
  });
  const memory = { maxBodyBytes: 1_000_000, reserve: () => true };
  const verdict = await inspect({ headers, body: Buffer.from(body), memory }, new AbortController().signal);
  return { verdict, headers };
}

const rpc = (method: string, params: object, id: unknown = 7): string =>
  JSON.stringify({ jsonrpc: "2.0", id, method, params });
const message = { messageId: "m", role: "ROLE_USER", parts: [{ text: "hello" }] };
const old = { kind: "message", messageId: "m", role: "user", parts: [{ kind: "text", text: "hello" }] };
const config = { url: "https://elsewhere.example/hook", token: "t" };
const sending = (configuration: object, what: object = message): object => ({ message: what, configuration });

const ASKING: readonly (readonly [string, string, string])[] = [
  ["1.0, with a message", "/rpc", rpc("SendMessage", sending({ taskPushNotificationConfig: config }))],
  ["1.0, with a stream", "/rpc", rpc("SendStreamingMessage", sending({ taskPushNotificationConfig: config }))],
  ["1.0, by itself", "/rpc", rpc("CreateTaskPushNotificationConfig", { taskId: "t", ...config })],
  ["0.3, with a message", "/rpc", rpc("message/send", sending({ pushNotificationConfig: config }, old))],
  ["0.3, with a stream", "/rpc", rpc("message/stream", sending({ push_notification_config: config }, old))],
  ["0.3, by itself", "/rpc", rpc("tasks/pushNotificationConfig/set", { taskId: "t", pushNotificationConfig: config })],
];
const OVER_REST: readonly (readonly [string, string, string])[] = [
  ["HTTP, with a message", "/v1/message:send", JSON.stringify(sending({ taskPushNotificationConfig: config }))],
  ["HTTP, by itself", "/v1/tasks/t/pushNotificationConfigs", JSON.stringify(config)],
];

const refusalOf = (verdict: Verdict, headers: readonly string[]) => {
  assert.ok(verdict.kind === "refuse", verdict.kind);
  return shapedRefusal(verdict.error, headers, verdict.shape);
};

describe("push notifications with inspected answers", () => {
  for (const [what, path, body] of ASKING) {
    test(what, async () => {
      const { verdict, headers } = await inspectRequest(path, body);
      const { status, body: found, details } = refusalOf(verdict, headers);
      const { id, error } = JSON.parse(found) as {
        readonly id: number;
        readonly error: { code: number; message: string };
      };
      assert.deepEqual([status, id, error.code, details], [200, 7, -32003, "guardrail_denied"]);
      assert.match(error.message, /^Push Notification is not supported: /);
      assert.ok(!found.includes("elsewhere"));
    });
  }
  for (const [what, path, body] of OVER_REST) {
    test(what, async () => {
      const { verdict, headers } = await inspectRequest(path, body);
      const { status, body: found } = refusalOf(verdict, headers);
      assert.deepEqual([status, JSON.parse(found).error.status], [403, "PERMISSION_DENIED"]);
    });
  }
  test("a batch with push notifications is refused as a whole", async () => {
    const { verdict, headers } = await inspectRequest(
      "/rpc",
      `[${ASKING[0]?.[2]},${rpc("SendMessage", { message }, 8)}]`,
    );
    const parsed = JSON.parse(refusalOf(verdict, headers).body) as readonly { readonly id: number }[];
    assert.deepEqual(
      parsed.map(({ id }) => id),
      [7, 8],
    );
  });
});

test("a message that requests none, or declines them, passes", async () => {
  for (const configuration of [{}, { taskPushNotificationConfig: null }, { historyLength: 1 }]) {
    assert.equal((await inspectRequest("/rpc", rpc("SendMessage", sending(configuration)))).verdict.kind, "allow");
  }
  const others = ["GetTaskPushNotificationConfig", "DeleteTaskPushNotificationConfig"];
  for (const method of others) {
    assert.equal((await inspectRequest("/rpc", rpc(method, { taskId: "t", id: "c" }))).verdict.kind, "allow");
  }
});

test("without inspected answers push notifications bypass nothing and pass", async () => {
  for (const [, path, body] of [...ASKING, ...OVER_REST]) {
    assert.equal((await inspectRequest(path, body, OF_REQUESTS)).verdict.kind, "allow");
    assert.equal((await inspectRequest(path, body, OF_ANSWERS, false)).verdict.kind, "allow");
  }
});
