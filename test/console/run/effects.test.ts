/** Each effect run with its own gateway and machine, and its resulting events. */

import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { createPorts } from "../../../src/cli/console-ports.ts";
import { actionOf } from "../../../src/console/model/action.ts";
import type { Effect, Event } from "../../../src/console/model/state.ts";
import { textOfLine } from "../../../src/console/model/text.ts";
import { createEffects } from "../../../src/console/run/effects.ts";
import { withRemembered } from "../../../src/console/workbench/saved-statements.ts";
import { bufferIo } from "../../cli/buffer-io.ts";
import { atEnd, eventually, type Owner } from "../../e2e/support/wait.ts";
import { answer, type Handler, type Peer, refuse, startPeer, status } from "../watch/support/peer.ts";
import { startWatch } from "../watch/support/watching.ts";

interface Console {
  readonly folder: string;
  readonly peers: readonly Peer[];
  readonly events: readonly Event[];
  /** Names of calls other than events. */
  readonly called: readonly string[];
  endpoint(): string;
  do(effect: Effect): void;
  close(): Promise<void>;
  end(): void;
  comes<Kind extends Event["kind"]>(kind: Kind): Promise<Extract<Event, { readonly kind: Kind }>>;
}

const statusFirst =
  (then: Handler): Handler =>
  (path, response, request) =>
    path.startsWith("/status") ? answer(response, status()) : then(path, response, request);

async function start(owner: Owner, handler: Handler, longest = 10): Promise<Console> {
  const folder = await mkdtemp(join(tmpdir(), "effects-"));
  atEnd(owner, () => rm(folder, { recursive: true }));
  const [a, b] = [
    await startPeer(owner, "a", statusFirst(handler)),
    await startPeer(
      owner,
      "b",
      statusFirst(() => {}),
    ),
  ];
  const stop = new AbortController();
  const ports = createPorts(bufferIo({ cwd: folder, env: { XDG_STATE_HOME: join(folder, "state") } }));
  const watch = startWatch(owner, [a.endpoint, b.endpoint], { signal: stop.signal });
  await watch.becomes("online");
  const events: Event[] = [];
  const called: string[] = [];
  const call = (name: string) => (): void => {
    called.push(name);
  };
  const effects = createEffects({
    ports,
    watch,
    endpoints: [a.endpoint, b.endpoint],
    signal: stop.signal,
    now: () => Date.now(),
    dispatch: (event) => events.push(event),
    copy(text) {
      called.push(`copy ${text}`);
      return text.length <= longest;
    },
    withRemembered,
    redraw: call("redraw"),
    runWithoutTerminal(work) {
      called.push("lend");
      return work();
    },
    stopProcess: call("stop"),
    quit: call("quit"),
  });
  const end = (): void => stop.abort();
  atEnd(owner, end);
  return {
    folder,
    peers: [a, b],
    events,
    called,
    endpoint: () => watch.link().endpoint.name,
    do: (effect) => effects.run(effect),
    close: () => effects.close(),
    end,
    comes: (kind) =>
      eventually(`the event ${kind}`, () =>
        events.find((event): event is Extract<Event, { readonly kind: typeof kind }> => event.kind === kind),
      ),
  };
}

const remove = (id: string) =>
  actionOf("delete_cluster_member", { params: { id } }, () => ({ message: `${id} removed` }));
const removing: Effect = { kind: "task", id: 7, task: { kind: "actions", actions: [remove("n2")] } };

test("a completed action is reported, and then the number of nodes that show it", async (t) => {
  const it = await start(t, (path, response) =>
    path.startsWith("/cluster_members/")
      ? answer(response, "", 204)
      : answer(response, { items: [{ id: "n1", applied: 1 }], index: 1 }),
  );
  it.do(removing);
  assert.deepEqual(await it.comes("task_done"), { kind: "task_done", id: 7, message: "n2 removed" });
  const { message } = await it.comes("task_visible");
  assert.equal(message, "n2 removed (index 1 on 1/1 nodes)");
});

test("a refused action shows the gateway's message and offers no retry", async (t) => {
  const it = await start(t, (_path, response) => refuse(response, 409, "conflict"));
  it.do(removing);
  assert.deepEqual(await it.comes("task_failed"), {
    kind: "task_failed",
    id: 7,
    message: "409 conflict: it is conflict",
  });
});

test("an action with an unknown outcome says that a retry is safe, whatever was done before it", async (t) => {
  const it = await start(t, (path, response) =>
    path.endsWith("/n2") ? answer(response, "", 204) : response.destroy(),
  );
  it.do({ kind: "task", id: 1, task: { kind: "actions", actions: [remove("n3")] } });
  const alone = await it.comes("task_failed");
  assert.match(alone.message, /may have been made anyway: y sends it again, and it is applied at most once$/);
  it.do({ kind: "task", id: 2, task: { kind: "actions", actions: [remove("n2"), remove("n3")] } });
  const second = await eventually("the second failure", () =>
    it.events.find((event) => event.kind === "task_failed" && event.id === 2),
  );
  assert.match(
    "message" in second ? second.message : "",
    /^1 of 2 done.*y sends it again, and it is applied at most once$/,
  );
});

test("a local document is written only over the revision that was shown", async (t) => {
  const it = await start(t, (_path, response) =>
    answer(response, { name: "default", revision: 5, version: 5, changed: true, differences: [], warnings: [] }),
  );
  await writeFile(join(it.folder, "a.yaml"), "version: 5\n");
  const job = { kind: "put_document", source: "default", file: "a.yaml", revision: 4 } as const;
  it.do({ kind: "task", id: 3, task: { kind: "job", job } });
  assert.equal((await it.comes("task_done")).message, "default: revision 5 in force");
  const put = it.peers[0]?.received.find(({ request }) => request.method === "PUT");
  assert.equal(put?.request.headers["if-match"], '"4"');
});

test("a page is loaded, and a failure to load is shown on the page", async (t) => {
  const it = await start(t, (path, response) =>
    path === "/sources/default"
      ? answer(response, { name: "default", document: "version: 3\n", revision: 3 })
      : refuse(response, 404, "not_found"),
  );
  it.do({ kind: "load", id: 1, request: { kind: "document", source: "default" } });
  assert.match((await it.comes("page_loaded")).lines.map(textOfLine).join("\n"), /version: 3/);
  it.do({ kind: "load", id: 2, request: { kind: "document", source: "none" } });
  const failed = await eventually("the second page", () =>
    it.events.find((event) => event.kind === "page_loaded" && event.id === 2),
  );
  assert.deepEqual("lines" in failed && failed.lines, [[{ text: "404 not_found: it is not_found", tone: "fail" }]]);
});

test("a query is answered with its duration, and its parameters are parsed like `-p`", async (t) => {
  const bodies: string[] = [];
  const it = await start(t, (_path, response, request) => {
    request.setEncoding("utf8").on("data", (part) => bodies.push(part));
    request.on("end", () => answer(response, { columns: [], rows: [], index: 1 }));
  });
  it.do({ kind: "query", id: 1, sql: "SELECT ?", params: ["5", "text"] });
  const done = await it.comes("query_done");
  assert.ok(done.tookMs >= 0);
  assert.deepEqual(
    bodies.map((body) => JSON.parse(body)),
    [{ sql: "SELECT ?", params: [5, "text"] }],
  );
});

test("a query asks all nodes, one node, or an older node that cannot ask others", async (t) => {
  let isEarlier = false;
  const it = await start(t, (path, response) =>
    isEarlier && path === "/query?nodes=all"
      ? answer(response, { error: { code: "invalid", message: "The query parameter `nodes` is not known." } }, 400)
      : answer(response, { columns: [], rows: [], index: 1 }),
  );
  const [endpoint] = it.peers;
  const runs = async (id: number, isOfOneNode: boolean) => {
    const before = endpoint?.received.length;
    it.do({ kind: "query", id, sql: "SELECT 1", params: [], ...(isOfOneNode && { isOfOneNode: true }) });
    const done = await eventually("its result", () =>
      it.events.find((event) => event.kind === "query_done" && event.id === id),
    );
    const paths =
      endpoint?.received.slice(before).flatMap(({ path }) => (path.startsWith("/query") ? [path] : [])) ?? [];
    return ["isOfOneNode" in done, ...paths];
  };
  assert.deepEqual(await runs(1, false), [false, "/query?nodes=all"]);
  assert.deepEqual(await runs(2, true), [true, "/query"]);
  isEarlier = true;
  assert.deepEqual(await runs(3, false), [true, "/query?nodes=all", "/query"]);
});

test("a canceled query ends at the gateway too, and is reported as failed", async (t) => {
  const it = await start(t, () => {});
  it.do({ kind: "query", id: 1, sql: "SELECT 1", params: [] });
  const [endpoint] = it.peers;
  const asked = await eventually("the query", () => endpoint?.received.find(({ path }) => path === "/query?nodes=all"));
  const closed = eventually("its connection closed", () => asked.request.socket.destroyed);
  it.do({ kind: "cancel", id: 1 });
  assert.equal((await it.comes("query_failed")).id, 1);
  await closed;
});

test("canceling without a running query does nothing", async (t) => {
  const it = await start(t, () => {});
  it.do({ kind: "cancel", id: 99 });
  assert.deepEqual(it.events, []);
});

test("a text is saved once, and not over an existing file", async (t) => {
  const it = await start(t, () => {});
  const effect: Effect = { kind: "job", id: 1, job: { kind: "save_text", file: "a.json", text: "[]", what: "2 rows" } };
  it.do(effect);
  assert.deepEqual((await it.comes("flash")).flash, {
    message: `saved 2 rows to ${join(it.folder, "a.json")}`,
    tone: "plain",
  });
  assert.equal(await readFile(join(it.folder, "a.json"), "utf8"), "[]");
  it.do(effect);
  assert.equal((await it.comes("file_exists")).path, join(it.folder, "a.json"));
});

test("a trail is verified step by step, and a missing one fails separately", async (t) => {
  const it = await start(t, () => {});
  it.do({ kind: "job", id: 1, job: { kind: "verify_audit", file: "none.jsonl" } });
  const failed = await eventually("the failure", () =>
    it.events.find((event) => event.kind === "verification" && event.verification.state.kind === "failed"),
  );
  assert.equal(it.events[0]?.kind, "verification");
  assert.match(JSON.stringify(failed), /none\.jsonl/);
  await writeFile(join(it.folder, "a.jsonl"), "no record\n");
  it.do({ kind: "job", id: 2, job: { kind: "verify_audit", file: "a.jsonl" } });
  const done = await eventually("the report", () =>
    it.events.find((event) => event.kind === "verification" && event.verification.state.kind === "done"),
  );
  assert.match(JSON.stringify(done), /"isGood":false/);
});

test("a copy is announced without its content", async (t) => {
  const it = await start(t, () => {});
  it.do({ kind: "copy", text: "sk-secret" });
  it.do({ kind: "copy", text: "sk-secret, too long" });
  assert.deepEqual(it.called, ["copy sk-secret", "copy sk-secret, too long"]);
  const text = it.events.map((event) => (event.kind === "flash" ? event.flash.message : ""));
  assert.deepEqual(text, ["copied, if the terminal supports it (OSC 52)", "too long for the terminal's clipboard"]);
});

test("changed preferences are saved by the end", async (t) => {
  const it = await start(t, () => {});
  for (const statement of ["SELECT 1;", "SELECT 2;", "SELECT 1;"]) {
    it.do({ kind: "remember", what: { name: "history", statement } });
  }
  await it.close();
  assert.equal(
    await readFile(join(it.folder, "state", "gateway", "console", "history"), "utf8"),
    '"SELECT 2;"\n"SELECT 1;"\n',
  );
});

test("screen, process and gateway events are forwarded at once", async (t) => {
  const it = await start(t, () => {});
  it.do({ kind: "redraw" });
  it.do({ kind: "refresh" });
  it.do({ kind: "stop_process" });
  it.do({ kind: "quit" });
  assert.deepEqual(it.called, ["redraw", "redraw", "stop", "quit"]);
  it.do({ kind: "next_endpoint" });
  await eventually("the other door", () => it.endpoint() === "b");
});

test("after the end nothing is reported and no rejection is unhandled", async (t) => {
  const it = await start(t, () => {});
  const unhandled: unknown[] = [];
  const note = (reason: unknown): void => void unhandled.push(reason);
  process.on("unhandledRejection", note);
  t.after(() => process.off("unhandledRejection", note));
  it.do({ kind: "query", id: 1, sql: "SELECT 1", params: [] });
  it.do({ kind: "load", id: 2, request: { kind: "document", source: "default" } });
  it.do(removing);
  const [endpoint] = it.peers;
  const own = () => endpoint?.received.filter(({ path }) => path !== "/status") ?? [];
  await eventually("three requests", () => own().length === 3);
  it.end();
  await eventually("their connections closed", () => own().every(({ request }) => request.socket.destroyed));
  await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(it.events, []);
  assert.deepEqual(unhandled, []);
});
