// tier: all
/** Packs with real gateways: what the document has, the result of adding one, and the write that follows. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { createDocumentPorts } from "../../../src/cli/console-documents.ts";
import { namedOf } from "../../../src/console/model/documents.ts";
import type { ConsoleEndpoint } from "../../../src/console/model/ports.ts";
import { writeChange } from "../../../src/console/run/write-document.ts";
import { bufferIo } from "../../cli/buffer-io.ts";
import { startPlane } from "../../e2e/admin/support/plane.ts";
import { createOne, led, provider, ready, SLOW_MS, type TestNode } from "../../e2e/config/support/nodes.ts";
import type { Owner } from "../../e2e/support/wait.ts";
import { startWatch, type Watching } from "./support/watching.ts";

const PACK = "baseline-secrets";

const endpointOf = ({ id, dir }: TestNode): ConsoleEndpoint => {
  const path = join(dir, "admin.sock");
  return { endpoint: { kind: "socket", path }, name: id, flags: `-socket ${path}` };
};

interface Shown extends Watching {
  readonly documents: ReturnType<typeof createDocumentPorts>;
}

function startShown(owner: Owner, node: TestNode): Shown {
  const documents = createDocumentPorts(bufferIo({}));
  return { ...startWatch(owner, [endpointOf(node)], { documents }), documents };
}

/** Adds the pack like its dialog, and waits until the view shows it complete. */
async function messageOfAdding(watch: Shown, node: TestNode, source: string): Promise<string> {
  watch.need([{ id: "packs" }]);
  const shelf = await watch.sees("the packs", ({ get }) => get({ id: "packs" })?.value, SLOW_MS);
  assert.equal(shelf.source, source);
  assert.equal(shelf.packs.find(({ name }) => name === PACK)?.there, 0);
  const need = { id: "pack_trial", name: namedOf(source, PACK) } as const;
  watch.need([{ id: "packs" }, { id: "list_sources" }, need]);
  const trial = await watch.sees("what adding it comes to", ({ get }) => get(need)?.value, SLOW_MS);
  assert.deepEqual([trial.problems, trial.blockedReason, trial.cases?.passes], [[], undefined, true]);
  assert.equal(trial.compiling?.kind, "compiles");
  const change = trial.change ?? assert.fail();
  const job = { kind: "write_change", change, summary: "added" } as const;
  const message = await writeChange(node.client, job, watch.documents, new AbortController().signal);
  await watch.sees(
    "all of it there",
    ({ get }) => {
      const now = get({ id: "packs" })?.value?.packs.find(({ name }) => name === PACK);
      return now !== undefined && now.objects > 0 && now.there === now.objects;
    },
    SLOW_MS,
  );
  // The shown revision is no longer the newest.
  await assert.rejects(writeChange(node.client, job, watch.documents, new AbortController().signal));
  return message;
}

test("a pack is added to a source of the admin API over exactly the shown revision", async (t) => {
  const plane = await startPlane(t);
  const message = await messageOfAdding(startShown(t, plane.node), plane.node, "base");
  assert.match(message, /^added: base revision 2 in force$/);
  const { items } = await plane.node.client.call("list_guardrails");
  assert.ok(items.length > 0);
});

test("a pack is added to the file that owns the document, whose version is raised, and is in force at once", async (t) => {
  const deployment = `version: 4 # by hand\n${JSON.stringify(provider("one", "http://127.0.0.1:9")).replace(/^/, "providers:\n  - ")}\n`;
  const node = await createOne(t, { deployment });
  const program = await node.launch();
  await ready(program);
  await led(node);
  const message = await messageOfAdding(startShown(t, node), node, "default");
  assert.match(message, /deployment\.yaml is written and applied, revision 2$/);
  const text = await readFile(join(node.dir, "deployment.yaml"), "utf8");
  assert.match(text, /^version: 5 # by hand\n/);
  assert.equal((await node.client.call("get_config")).file_status.state, "in_sync");
  const { items } = await node.client.call("list_guardrails");
  assert.ok(items.length > 0);
});
