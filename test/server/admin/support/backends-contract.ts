/** Contract of the port `Backends`. */

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Backends } from "../../../../src/server/admin/index.ts";
import { FAILED } from "./memory-backends.ts";

interface BackendsUnderTest {
  readonly backends: Backends;
  /** Configures providers with these names, in this order. */
  configure(...names: readonly string[]): void;
  /** A 503 of a provider, without failover. */
  fail(name: string): void;
}

export function backendsContract(name: string, open: () => BackendsUnderTest): void {
  test(`${name}: providers are in configuration order, without outcomes before the first request`, () => {
    const { backends, configure } = open();
    assert.deepEqual(backends.list(), []);
    configure("b", "a");
    assert.deepEqual(
      backends.list().map((row) => [row.name, row.state, row.error_ratio, row.ttfb_p50_ms, row.in_flight]),
      [
        ["b", "idle", null, null, 0],
        ["a", "idle", null, null, 0],
      ],
    );
  });

  test(`${name}: failures are listed per provider, and an unknown provider has none`, () => {
    const { backends, configure, fail } = open();
    configure("a", "b");
    fail("a");
    const found = backends.failures("a")?.map(({ time: _, ...rest }) => rest);
    assert.deepEqual(found, [{ ...FAILED, status: 503, kind: "5xx", attempt: 1, moved_to: null }]);
    assert.deepEqual(backends.failures("b"), []);
    assert.equal(backends.failures("c"), undefined);
    assert.deepEqual([backends.members("a"), backends.members("c")], [[], undefined]);
  });

  test(`${name}: a provider removed from the configuration is gone from both lists`, () => {
    const { backends, configure } = open();
    configure("a", "b");
    configure("b");
    assert.deepEqual(
      [backends.list().map((row) => row.name), [...new Set(backends.models().map((row) => row.provider))]],
      [["b"], ["b"]],
    );
    assert.equal(backends.failures("a"), undefined);
  });

  test(`${name}: a listener is called at once for a new configuration until it unsubscribes`, () => {
    const { backends, configure } = open();
    const reported: string[] = [];
    const end = backends.onChange((what) => reported.push(what));
    configure("a");
    end();
    configure("b");
    assert.deepEqual(reported, ["configuration"]);
  });
}
