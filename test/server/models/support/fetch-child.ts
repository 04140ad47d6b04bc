/**
 * Fetches one listed file into a cache in a process of its own: `ADDRESS SHA256 SIZE DIRECTORY`. Prints `fetched`, or
 * the fault and its message.
 */
import { ModelError, openModelStore } from "../../../../src/server/models/index.ts";

const [url = "", sha256 = "", size = "", directory = ""] = process.argv.slice(2);
const store = openModelStore({
  directory,
  userAgent: "gateway/test",
  now: Date.now,
  monotonic: () => performance.now(),
  lockTimes: { pollMs: 20 },
});
const files = [{ role: "tokenizer", url, sha256, size: Number(size) }] as const;
try {
  const { signal } = new AbortController();
  const manifest = await store.resolve({ name: "own", files }, "text", signal);
  await store.ensure(manifest, { signal });
  process.stdout.write("fetched\n");
} catch (error) {
  if (!(error instanceof ModelError)) throw error;
  process.stdout.write(`${error.fault}: ${error.message}\n`);
}
await store.close();
