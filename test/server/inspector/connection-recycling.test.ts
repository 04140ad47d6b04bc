// tier: long
/** Connections of a real Envoy, which resets each finished stream: none of its requests is lost by that. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { nullLog } from "../../../src/base/index.ts";
import { openInspector } from "../../../src/server/inspector/index.ts";
import { createAdmission, DEFAULT_ADMISSION } from "../../../src/server/memory/index.ts";
import { peer } from "../../peers/index.ts";
import { openUpstream, startEnvoy } from "./envoy.ts";

const envoy = await peer("envoy");
/** A server accepts a thousand resets per connection, and 33 more per second. */
const REQUESTS = 1_600;
const SIDE_BY_SIDE = 4;

test("a connection is recycled after its limit of requests", { skip: envoy.missing }, async (t) => {
  const inspector = await openInspector({
    address: "127.0.0.1:0",
    mode: "streamed",
    maxMessageBytes: 4 << 20,
    account: createAdmission({ ...DEFAULT_ADMISSION, maxBufferedBytes: 64 << 20 }),
    maxStreams: 100,
    maxQuietMs: 60_000,
    maxSilentMs: 60_000,
    begin: () => ({ maxBodyBytes: 1_000, inspect: () => Promise.resolve({ kind: "allow" }) }),
    observer: { count: () => undefined, countInspection: () => undefined },
    log: nullLog,
  });
  t.after(() => inspector.close(0));
  const upstream = await openUpstream();
  t.after(() => upstream.close());
  const modes = { request: "streamed", response: "off" } as const;
  const proxy = await startEnvoy(envoy.path, modes, { inspector: inspector.port, upstream: upstream.port });
  t.after(() => proxy.stop());

  const statuses = new Set<number>();
  const post = async (): Promise<void> => {
    for (let request = 0; request < REQUESTS / SIDE_BY_SIDE; request++) {
      statuses.add((await proxy.post(Buffer.from("{}"))).status);
    }
  };
  await Promise.all(Array.from({ length: SIDE_BY_SIDE }, post));
  assert.deepEqual(statuses, new Set([200]));
  const counters = await proxy.counters();
  assert.deepEqual([counters.get("streams_started"), counters.get("streams_failed")], [REQUESTS, 0]);
});
