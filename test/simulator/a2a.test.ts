/** The simulated agent's answers and refusals. Source: a2a reference, 1 to 9. */

import assert from "node:assert/strict";
import { createPublicKey, type JsonWebKey, verify } from "node:crypto";
import { test } from "node:test";
import canonicalize from "canonicalize";
import { calculateJwkThumbprint } from "jose";
import { type Answered, a2a, answerOf, answersOf, messageOf, refusal, resultOf, textOf } from "./agent-clients.ts";
import { simulator } from "./clients.ts";

interface Task {
  readonly id: string;
  readonly contextId: string;
  readonly status: { readonly state: string };
  readonly artifacts?: readonly { readonly parts: readonly { readonly text: string }[] }[];
  readonly history?: readonly unknown[];
}

const taskOf = ({ result }: Answered): Task => (result?.["task"] ?? result) as Task;

test("a message is echoed with its data; a report is awaited or not", async (t) => {
  const at = `${(await simulator(t)).url}/a2a`;
  const parts = [{ text: "Hello!" }, { data: { k: [1, null] } }];
  const result = await answerOf(a2a(at, "SendMessage", messageOf("", { parts })));
  assert.equal(textOf(result), 'You said: "Hello!"');
  assert.match(JSON.stringify(result), /"role":"ROLE_AGENT","parts":\[.*,\{"data":\{"k":\[1,null\]\}\}\]/);
  const done = taskOf(await answerOf(a2a(at, "SendMessage", messageOf("report 2 5"))));
  assert.equal(done.status.state, "TASK_STATE_COMPLETED");
  assert.deepEqual(
    done.artifacts?.[0]?.parts.map(({ text }) => text),
    ["Part 1 of 2. ", "Part 2 of 2. "],
  );
  const configuration = { returnImmediately: true, historyLength: 0 };
  const slow = await answerOf(a2a(at, "SendMessage", { ...messageOf("report 1 60000"), configuration }));
  assert.equal(taskOf(slow).status.state, "TASK_STATE_WORKING");
  assert.equal(taskOf(slow).history, undefined);
});

test("a stream has the task, its updates and its end; a late subscriber gets the rest", async (t) => {
  const at = `${(await simulator(t)).url}/a2a`;
  const events = await answersOf(await a2a(at, "SendStreamingMessage", messageOf("report 2 20")));
  assert.deepEqual(
    events.map(({ result }) => Object.keys(result ?? {})[0]),
    ["task", "statusUpdate", "artifactUpdate", "artifactUpdate", "statusUpdate"],
  );
  assert.ok(events.every(({ id }) => id === 7));
  assert.match(JSON.stringify(events[0]), /TASK_STATE_SUBMITTED/);
  assert.match(JSON.stringify(events.at(-1)), /TASK_STATE_COMPLETED/);
  const configuration = { returnImmediately: true };
  const begun = taskOf(await answerOf(a2a(at, "SendMessage", { ...messageOf("report 1 60000"), configuration })));
  const subscribed = a2a(at, "SubscribeToTask", { id: begun.id }).then(answersOf);
  const listed = await answerOf(a2a(at, "ListTasks", { contextId: begun.contextId }));
  assert.deepEqual([listed.result?.["totalSize"], listed.result?.["nextPageToken"]], [1, ""]);
  // Whether the other client is already subscribed or finds an ended task, it receives the end.
  const cancelled = await answerOf(a2a(at, "CancelTask", { id: begun.id }));
  assert.equal(taskOf(cancelled).status.state, "TASK_STATE_CANCELED");
  assert.match(JSON.stringify((await subscribed).at(-1)), /TASK_STATE_CANCELED|-32004/);
  assert.deepEqual(await refusal(a2a(at, "CancelTask", { id: begun.id })), [200, -32_002]);
  assert.deepEqual(await refusal(a2a(at, "SubscribeToTask", { id: begun.id })), [200, -32_004]);
});

test("a booking asks for input and continues with the answer", async (t) => {
  const at = `${(await simulator(t)).url}/a2a`;
  const { id: taskId, contextId, status } = taskOf(await answerOf(a2a(at, "SendMessage", messageOf("book a table"))));
  assert.equal(status.state, "TASK_STATE_INPUT_REQUIRED");
  const events = await answersOf(await a2a(at, "SendStreamingMessage", messageOf("four", { taskId, contextId })));
  assert.match(JSON.stringify(events[0]), /TASK_STATE_INPUT_REQUIRED/);
  assert.match(JSON.stringify(events.at(-1)), /TASK_STATE_COMPLETED/);
  const whole = taskOf(await answerOf(a2a(at, "GetTask", { id: taskId })));
  assert.equal(whole.history?.length, 2);
  assert.match(JSON.stringify(whole.artifacts), /A table for four was booked/);
  assert.deepEqual(await refusal(a2a(at, "SendMessage", messageOf("five", { taskId }))), [200, -32_004]);
  // The Java SDK writes fields that are not set as empty strings.
  const unset = await answerOf(a2a(at, "SendMessage", messageOf("six", { taskId: "", contextId: "" })));
  assert.match(JSON.stringify(unset.result), /six/);
});

test("tasks are listed by page and state", async (t) => {
  const at = `${(await simulator(t)).url}/a2a`;
  for (const text of ["fail", "report 1 0", "fail"]) await answerOf(a2a(at, "SendMessage", messageOf(text)));
  const list = (params: Readonly<Record<string, unknown>>) => resultOf(a2a(at, "ListTasks", params));
  const first = await list({ pageSize: 2, status: "TASK_STATE_UNSPECIFIED" });
  assert.deepEqual([(first["tasks"] as unknown[]).length, first["totalSize"]], [2, 3]);
  const rest = await list({ pageSize: 2, pageToken: first["nextPageToken"] });
  assert.deepEqual([(rest["tasks"] as unknown[]).length, rest["nextPageToken"]], [1, ""]);
  assert.equal((await list({ status: "TASK_STATE_FAILED" }))["totalSize"], 2);
  assert.deepEqual(await refusal(a2a(at, "ListTasks", { pageSize: 101 })), [200, -32_602]);
});

test("requests outside A2A 1.0 are refused with its codes", async (t) => {
  const at = `${(await simulator(t)).url}/a2a`;
  const send = (facts: Readonly<Record<string, unknown>>) => a2a(at, "SendMessage", messageOf("x", facts));
  const table: readonly (readonly [() => Promise<Response>, number])[] = [
    [() => a2a(at, "SendMessage", messageOf("x"), { "a2a-version": "" }), -32_009],
    [() => a2a(at, "SendMessage", messageOf("x"), { "a2a-version": "0.3" }), -32_009],
    [() => a2a(at, "SendMessage", messageOf("x"), { "content-type": "application/a2a+json" }), -32_005],
    [() => a2a(at, "message/send", messageOf("x")), -32_601],
    [() => send({ role: "user" }), -32_602],
    [() => send({ parts: [] }), -32_602],
    [() => send({ parts: [{ text: "x", url: "https://x.example" }] }), -32_602],
    [() => a2a(at, "GetTask", { id: "nope" }), -32_001],
    [() => a2a(at, "CreateTaskPushNotificationConfig", { taskId: "x" }), -32_003],
    [() => a2a(at, "GetExtendedAgentCard"), -32_004],
  ];
  for (const [index, [request, code]] of table.entries()) {
    assert.deepEqual(await refusal(request()), [200, code], String(index));
  }
  assert.equal((await fetch(at)).status, 405);
});

test("cards are served plain, signed, forged, extended and old", async (t) => {
  const { url } = await simulator(t);
  const card = async (at: string) => {
    const response = await fetch(`${url}${at}/.well-known/agent-card.json`, { redirect: "manual" });
    const text = await response.text();
    return { response, card: (text === "" ? {} : JSON.parse(text)) as Record<string, unknown> };
  };
  const plain = await card("");
  assert.match(plain.response.headers.get("etag") ?? "", /^".+"$/);
  assert.deepEqual(plain.card["supportedInterfaces"], [
    { url: `${url}/a2a`, protocolBinding: "JSONRPC", protocolVersion: "1.0" },
  ]);
  const isGenuine = async (at: string): Promise<boolean> => {
    const { signatures, ...rest } = (await card(at)).card;
    const [{ protected: header, signature }] = signatures as [{ protected: string; signature: string }];
    const { jku, kid } = JSON.parse(Buffer.from(header, "base64url").toString()) as { jku: string; kid: string };
    const { keys } = (await (await fetch(jku)).json()) as { keys: [JsonWebKey & { kid: string }] };
    assert.deepEqual([kid, keys[0].d], [keys[0].kid, undefined]);
    assert.equal(await calculateJwkThumbprint(keys[0] as Parameters<typeof calculateJwkThumbprint>[0]), kid);
    const signed = Buffer.from(`${header}.${Buffer.from(canonicalize(rest) ?? "").toString("base64url")}`);
    const key = createPublicKey({ key: keys[0], format: "jwk" });
    return verify("sha256", signed, { key, dsaEncoding: "ieee-p1363" }, Buffer.from(signature, "base64url"));
  };
  assert.equal(await isGenuine("/a2a/sim-signed"), true);
  assert.equal(await isGenuine("/a2a/sim-tampered"), false);
  const extended = (await answerOf(a2a(`${url}/a2a/sim-extended`, "GetExtendedAgentCard"))).result;
  assert.match(JSON.stringify(extended), /"id":"secret"/);
  assert.equal((await card("/a2a/sim-old")).card["protocolVersion"], "0.3.0");
  assert.equal((await card("/a2a/sim-redirect")).response.status, 302);
  assert.ok(JSON.stringify((await card("/a2a/sim-big-card")).card).length > 2 << 20);
});
