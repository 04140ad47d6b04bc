import assert from "node:assert/strict";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import test, { type TestContext } from "node:test";
import { createInstruments, type Log, nullLog } from "../../../src/base/index.ts";
import {
  type ModelNeed,
  type ModelSupply,
  missingModelsText,
  openModelSupply,
} from "../../../src/server/models/index.ts";
import { fail, type Hub, sha256 } from "./support/hub.ts";
import {
  declarationOf,
  FILES,
  filesBelow,
  folder,
  GRAPH,
  hubOf,
  leftovers,
  never,
  REPO,
  storeIn,
} from "./support/store.ts";

interface Line {
  readonly message: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

async function opened(t: TestContext) {
  const [hub, directory] = await Promise.all([hubOf(t), folder(t)]);
  const { store } = storeIn(t, directory);
  const lines: Line[] = [];
  const waits: number[] = [];
  const note = (message: string, fields: Line["fields"] = {}): void => void lines.push({ message, fields });
  const log: Log = { ...nullLog, info: note, error: note };
  const instruments = createInstruments();
  let now = 0;
  const supply = openModelSupply({
    store,
    log,
    instruments,
    // Each check of it is five seconds later.
    monotonic: () => (now += 5_000),
    waiting: {
      random: () => 0.5,
      async wait(ms, signal) {
        waits.push(ms);
        await new Promise((resolve) => setImmediate(resolve));
        signal.throwIfAborted();
      },
    },
  });
  t.after(() => supply.close());
  const commit = hub.commit(REPO, FILES);
  const need: ModelNeed = { model: declarationOf(hub, commit), parts: "whole" };
  return { hub, directory, supply, lines, waits, need, instruments };
}

const nextChange = (supply: ModelSupply): Promise<void> =>
  new Promise((resolve) => {
    const end = supply.onChange(() => {
      end();
      resolve();
    });
  });

const SIZE =
  FILES["config.json"].length + FILES["tokenizer.json"].length + GRAPH.length + FILES["onnx/model.onnx_data"].length;

/** Holds requests for the graph until released. */
function holding(hub: Hub): { readonly requested: Promise<void>; readonly release: () => void } {
  let release: (() => void) | undefined;
  let resolveRequested: (() => void) | undefined;
  const requested = new Promise<void>((resolve) => {
    resolveRequested = resolve;
  });
  hub.fault = (seen, answer) => {
    if (!seen.path.startsWith(`/${sha256(GRAPH)}`) || release !== undefined) return false;
    answer.writeHead(200, { "content-length": GRAPH.length });
    answer.write(GRAPH.subarray(0, 100_000), () => resolveRequested?.());
    release = () => answer.end(GRAPH.subarray(100_000));
    return true;
  };
  return { requested, release: () => release?.() };
}

test("a needed model is fetched in the background with visible progress", async (t) => {
  const { hub, supply, need, lines, instruments } = await opened(t);
  const held = holding(hub);
  assert.equal((await supply.cachedViews([need], never())).size, 0);
  assert.equal(hub.seen.length, 0);

  const came = nextChange(supply);
  supply.setWanted([need]);
  assert.deepEqual(supply.status(), [
    { name: "names", state: "fetching", done: 0, total: undefined, message: undefined },
  ]);
  assert.equal(missingModelsText(supply.status()), "names");
  await held.requested;
  const [status] = supply.status();
  assert.equal(status?.total, SIZE);
  assert.match(missingModelsText(supply.status()) ?? "", /^names \(0\.\d of 0\.5 MB\)$/);
  supply.setWanted([need]);
  held.release();
  await came;
  assert.deepEqual(supply.status(), [{ name: "names", state: "ready", done: SIZE, total: SIZE, message: undefined }]);
  assert.equal(missingModelsText(supply.status()), undefined);
  assert.equal((await supply.cachedViews([need], never())).get("names")?.size, SIZE);

  assert.deepEqual([lines[0]?.message, lines.at(-1)?.message], ["a model is being fetched", "a model is ready"]);
  assert.equal(lines.at(-1)?.fields["bytes"], SIZE);
  assert.ok(lines.some(({ fields }) => fields["percent"] !== undefined));
  const fetched = instruments.read().find(({ name }) => name === "gateway_model_fetched_bytes_total");
  assert.deepEqual(fetched?.series[0]?.labelValues, ["names"]);
});

test("a cached model is ready at once without a request", async (t) => {
  const { hub, supply, need, directory } = await opened(t);
  const came = nextChange(supply);
  supply.setWanted([need]);
  await came;
  hub.seen.length = 0;
  await supply.cachedViews([need], never());
  supply.setWanted([need]);
  assert.equal(supply.status()[0]?.state, "ready");
  assert.equal(hub.seen.length, 0);

  await rm(join(directory, "views"), { recursive: true });
  assert.equal((await supply.cachedViews([need], never())).size, 0);
  const again = nextChange(supply);
  supply.setWanted([need]);
  await again;
  assert.equal((await supply.cachedViews([need], never())).size, 1);
});

test("a failed fetch is reported, and retried while the model is needed", async (t) => {
  const { hub, supply, need, lines, waits, directory } = await opened(t);
  let refusals = 0;
  hub.fault = (seen, answer) => seen.host === "hub" && refusals++ < 7 && fail(answer, 404, "RevisionNotFound");
  supply.setWanted([need]);
  await nextChange(supply);
  assert.equal(supply.status()[0]?.state, "failed");
  assert.match(missingModelsText(supply.status()) ?? "", /^names \(http:.*has no such revision \(refused\)\)$/);
  while (supply.status()[0]?.state !== "ready") await nextChange(supply);
  assert.deepEqual(waits, [30_000, 60_000, 120_000, 240_000, 480_000, 600_000, 600_000]);
  const found = lines.filter(
    ({ message }) => message === "a model could not be downloaded; the download will be retried",
  );
  assert.deepEqual([found.length, found[0]?.fields["retry_in_seconds"]], [7, 30]);
  assert.deepEqual(await leftovers(directory), []);
});

test("a model that is no longer needed is not fetched further", async (t) => {
  const { hub, supply, need, directory } = await opened(t);
  const held = holding(hub);
  supply.setWanted([need]);
  await held.requested;
  supply.setWanted([]);
  assert.deepEqual(supply.status(), []);
  // Its lock is released once it has ended.
  while ((await filesBelow(directory)).some((path) => path.endsWith(".lock"))) await new Promise(setImmediate);
  assert.deepEqual(await filesBelow(join(directory, "views")), []);
  hub.fault = () => false;
  const came = nextChange(supply);
  supply.setWanted([need]);
  await came;
  assert.equal(supply.status()[0]?.state, "ready");
});

test("many models are needed and two are fetched at a time", async (t) => {
  const { hub, supply } = await opened(t);
  let open = 0;
  let most = 0;
  const answers: (() => void)[] = [];
  hub.fault = (seen, answer) => {
    if (!seen.path.includes("/api/models/")) return false;
    open += 1;
    most = Math.max(most, open);
    answers.push(() => {
      open -= 1;
      fail(answer, 404);
    });
    setImmediate(() => setImmediate(() => answers.shift()?.()));
    return true;
  };
  const needs = Array.from(
    { length: 6 },
    (_, at): ModelNeed => ({
      model: { name: `m${at}`, hub: { repo: "o/n", revision: `${at}`.repeat(40), endpoint: hub.endpoint } },
      parts: "text",
    }),
  );
  supply.setWanted(needs);
  while (supply.status().some(({ state, message }) => state !== "failed" && message === undefined))
    await nextChange(supply);
  assert.ok(most <= 2, `${most} at a time`);
  supply.close();
});
