/** A store over a folder of its own, whose waits are recorded and take no time. */
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import {
  type ModelDeclaration,
  ModelError,
  type ModelView,
  openModelStore,
  type StoreOptions,
} from "../../../../src/server/models/index.ts";
import { graphBytes } from "./graph.ts";
import { type Hub, openHub } from "./hub.ts";

export const REPO = "owner/names";

export const FILES = {
  "README.md": Buffer.from("# Names\n"),
  "config.json": Buffer.from('{"id2label":{"0":"O","1":"B-PER"}}\n'),
  "tokenizer.json": Buffer.from('{"version":"1.0"}\n'),
  "onnx/model.onnx": graphBytes(["model.onnx_data"], 300_000),
  "onnx/model.onnx_data": Buffer.alloc(200_000, "data"),
  "onnx/model_quantized.onnx": graphBytes([], 100),
  "pytorch_model.bin": Buffer.alloc(10, 1),
};

export async function folder(t: Pick<TestContext, "after">): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), "gateway-models-"));
  t.after(() => rm(path, { recursive: true, force: true }));
  return path;
}

export async function hubOf(t: Pick<TestContext, "after">): Promise<Hub> {
  const hub = await openHub();
  t.after(() => hub.close());
  return hub;
}

interface TestStore {
  readonly store: ReturnType<typeof openModelStore>;
  /** Milliseconds of each requested wait. */
  readonly waits: number[];
}

export function storeIn(
  t: Pick<TestContext, "after">,
  directory: string,
  options: Partial<StoreOptions> = {},
): TestStore {
  const waits: number[] = [];
  const store = openModelStore({
    directory,
    userAgent: "gateway/test",
    now: Date.now,
    monotonic: () => performance.now(),
    waiting: {
      random: () => 0.5,
      async wait(ms, signal) {
        waits.push(ms);
        await new Promise((resolve) => setImmediate(resolve));
        signal.throwIfAborted();
      },
    },
    ...options,
  });
  t.after(() => store.close());
  return { store, waits };
}

export const declarationOf = (hub: Hub, revision: string, more: object = {}): ModelDeclaration => ({
  name: "names",
  hub: { repo: REPO, revision, endpoint: hub.endpoint, ...more },
});

/** Returns the relative paths of all files below, sorted. */
export async function filesBelow(directory: string): Promise<readonly string[]> {
  const found = await readdir(directory, { recursive: true, withFileTypes: true });
  return found
    .filter((one) => !one.isDirectory())
    .map((one) => join(one.parentPath, one.name).slice(directory.length + 1))
    .sort();
}

/** Returns partial downloads and incomplete layouts. */
export const leftovers = async (directory: string): Promise<readonly string[]> =>
  (await filesBelow(directory)).filter((path) => /\.(part|tmp|lock|dead)$/.test(path));

export async function faultOf(work: Promise<unknown>): Promise<{ readonly fault: string; readonly message: string }> {
  try {
    await work;
  } catch (error) {
    if (error instanceof ModelError) return { fault: error.fault, message: error.message };
    throw error;
  }
  throw new Error("it did not fail");
}

export const never = (): AbortSignal => new AbortController().signal;

export const GRAPH = FILES["onnx/model.onnx"];

/** Same length as the graph, with other content. */
export const OTHER = Buffer.from(GRAPH).fill(0xff, 500, 501);

/** Faults only of the content host. */
export function largeFrom(hub: Hub, act: Hub["fault"]): void {
  hub.fault = (seen, answer, request) => seen.host === "content" && act(seen, answer, request);
}

export async function fetched(
  t: TestContext,
  hub: Hub,
  directory: string,
  commit: string,
  more: object = {},
): Promise<ModelView> {
  const { store } = storeIn(t, directory);
  const manifest = await store.resolve(declarationOf(hub, commit, more), "whole", never());
  return await store.ensure(manifest, { signal: never() });
}

export async function setting(t: TestContext) {
  const [hub, directory] = await Promise.all([hubOf(t), folder(t)]);
  return { hub, directory, commit: hub.commit(REPO, FILES), ...storeIn(t, directory) };
}
