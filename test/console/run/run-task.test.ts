/** Requests of a confirmed dialog: sequential, each applied once however often it is retried. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { AdminError, createAdminClient } from "../../../src/admin-api/index.ts";
import { type Action, actionOf } from "../../../src/console/model/action.ts";
import type { JobRequest, Task } from "../../../src/console/model/dialog.ts";
import { runTask, TaskFailed } from "../../../src/console/run/run-task.ts";
import { atEnd, type Owner } from "../../e2e/support/wait.ts";
import { answer, type Handler, type Peer, refuse, startPeer } from "../watch/support/peer.ts";

const remove = (id: string): Action =>
  actionOf("delete_cluster_member", { params: { id } }, () => ({ message: `${id} removed` }));

const removing = (...ids: readonly string[]): Task => ({ kind: "actions", actions: ids.map(remove) });

const hangUp: Handler = (_path, response) => response.destroy();
const accept: Handler = (_path, response) => answer(response, "", 204);

interface Doing {
  readonly peer: Peer;
  readonly reported: readonly string[];
  readonly jobs: readonly JobRequest[];
  do(task: Task): ReturnType<typeof runTask>;
}

async function start(
  owner: Owner,
  handler: Handler,
  job = (_: JobRequest) => Promise.resolve("saved"),
): Promise<Doing> {
  const peer = await startPeer(owner, "a", handler);
  const client = createAdminClient({ address: peer.endpoint.endpoint });
  atEnd(owner, () => client.close());
  const reported: string[] = [];
  const jobs: JobRequest[] = [];
  const unsettled = new Map<string, string>();
  return {
    peer,
    reported,
    jobs,
    do: (task) =>
      runTask(task, {
        client,
        signal: new AbortController().signal,
        unsettled,
        secretIn: async (text) => (text.includes("hunter2") ? "GENERIC_SECRET" : undefined),
        onProgress: (message) => reported.push(message),
        job(request) {
          jobs.push(request);
          return job(request);
        },
      }),
  };
}

const keysOf = ({ received }: Peer): readonly unknown[] =>
  received.map(({ request }) => request.headers["idempotency-key"]);

test("a single action has its own result text and no progress", async (t) => {
  const doing = await start(t, accept);
  assert.deepEqual(await doing.do(removing("n2")), { message: "n2 removed" });
  assert.deepEqual(doing.reported, []);
});

test("several actions are sent in order, each with its own idempotency key, and counted", async (t) => {
  const doing = await start(t, accept);
  assert.deepEqual(await doing.do(removing("n2", "n3", "n4")), { message: "3 done; the last: n4 removed" });
  assert.deepEqual(
    doing.peer.received.map(({ path }) => path),
    ["/cluster_members/n2", "/cluster_members/n3", "/cluster_members/n4"],
  );
  assert.deepEqual(doing.reported, ["1 of 3", "2 of 3", "3 of 3"]);
  assert.equal(new Set(keysOf(doing.peer)).size, 3);
});

test("a task without actions says that there was nothing to do", async (t) => {
  const doing = await start(t, accept);
  assert.deepEqual(await doing.do(removing()), { message: "nothing to do" });
});

test("the first failure ends the task, and earlier results are reported", async (t) => {
  const doing = await start(t, (path, response, request) =>
    path.endsWith("/n3") ? refuse(response, 409, "conflict") : accept(path, response, request),
  );
  await assert.rejects(doing.do(removing("n2", "n3", "n4")), (error) => {
    assert.ok(error instanceof TaskFailed);
    assert.match(error.message, /^1 of 3 done, then \/admin\/v1\/cluster_members\/n3: it is conflict$/);
    assert.ok(error.cause instanceof AdminError);
    return true;
  });
  assert.equal(doing.peer.count("/cluster_members/n4"), 0);
});

test("a failure of the first action is the gateway's own", async (t) => {
  const doing = await start(t, (_path, response) => refuse(response, 409, "conflict"));
  await assert.rejects(
    doing.do(removing("n2", "n3")),
    (error) => error instanceof AdminError && error.code === "conflict",
  );
});

test("a request of unknown outcome is sent again with the same key", async (t) => {
  const doing = await start(t, hangUp);
  await assert.rejects(doing.do(removing("n2")), AdminError);
  doing.peer.handler = (_path, response) =>
    answer(response, { error: { code: "busy", message: "m", details: { outcome: "unknown" } } }, 503);
  await assert.rejects(doing.do(removing("n2")), AdminError);
  doing.peer.handler = accept;
  await doing.do(removing("n2"));
  assert.equal(new Set(keysOf(doing.peer)).size, 1);
  await doing.do(removing("n2"));
  assert.equal(new Set(keysOf(doing.peer)).size, 2, "once it is known, the same request is another one");
});

test("a request after a refusal, or another request, has a new key", async (t) => {
  const doing = await start(t, (_path, response) => refuse(response, 409, "conflict"));
  await assert.rejects(doing.do(removing("n2")), AdminError);
  doing.peer.handler = hangUp;
  await assert.rejects(doing.do(removing("n2")), AdminError);
  doing.peer.handler = accept;
  await doing.do(removing("n3"));
  assert.equal(new Set(keysOf(doing.peer)).size, 3);
});

test("steps run in order, and their results are joined", async (t) => {
  const doing = await start(t, accept);
  const job: JobRequest = { kind: "save_snapshot", file: "a.tgz" };
  const steps: Task = {
    kind: "steps",
    steps: [
      { kind: "job", job },
      { kind: "actions", actions: [remove("n2")] },
    ],
  };
  assert.deepEqual(await doing.do(steps), { message: "saved; n2 removed" });
  assert.deepEqual(doing.jobs, [job]);
});

test("a failed step prevents the later ones", async (t) => {
  const doing = await start(t, accept, () => Promise.reject(new Error("the disk is full")));
  const steps: Task = {
    kind: "steps",
    steps: [
      { kind: "job", job: { kind: "save_snapshot", file: "a.tgz" } },
      { kind: "actions", actions: [remove("n2")] },
    ],
  };
  await assert.rejects(doing.do(steps), /^Error: the disk is full$/);
  assert.deepEqual(doing.peer.received, []);
});

test("a step that fails after a successful one reports both", async (t) => {
  const doing = await start(t, (_path, response) => refuse(response, 409, "conflict"));
  const steps: Task = {
    kind: "steps",
    steps: [
      { kind: "job", job: { kind: "save_snapshot", file: "a.tgz" } },
      { kind: "actions", actions: [remove("n2")] },
    ],
  };
  await assert.rejects(doing.do(steps), /^TaskFailed: saved; then: it is conflict$/);
});

test("a reason that contains a secret is not sent, and nothing else of its dialog is", async (t) => {
  const doing = await start(t, accept);
  const suspend = (name: string, reason: string): Action =>
    actionOf("put_suspension", { params: { kind: "model", name }, body: { reason } }, () => ({ message: "done" }));
  const task: Task = { kind: "actions", actions: [suspend("a", "key rotation"), suspend("b", "password=hunter2")] };
  await assert.rejects(doing.do(task), (error) => {
    assert.ok(error instanceof Error);
    assert.match(error.message, /seems to contain a secret \(GENERIC_SECRET\).*nothing was sent; remove it/);
    assert.ok(!error.message.includes("hunter2"));
    return true;
  });
  assert.deepEqual(doing.peer.received, []);
});
