/** Contract of the port `GovernanceLists`. */

import assert from "node:assert/strict";
import { test } from "node:test";
import type { GovernanceLists } from "../../../../src/server/admin/index.ts";

interface GovernedUnderTest {
  readonly governed: GovernanceLists;
  /** Configures profiles, issuers and shared budgets with these names, in this order. */
  configure(named: {
    readonly profiles: readonly string[];
    readonly issuers: readonly string[];
    readonly budgets: readonly string[];
  }): void;
}

const NOTHING = { profiles: [], issuers: [], budgets: [] };

export function governedContract(name: string, open: () => GovernedUnderTest): void {
  test(`${name}: rows are in configuration order, and empty before the first configuration`, async () => {
    const { governed, configure } = open();
    assert.deepEqual([governed.profiles(), governed.issuers(), [...(await governed.budgets())]], [[], [], []]);
    configure({ profiles: ["b", "a"], issuers: ["corp"], budgets: ["y", "x"] });
    assert.deepEqual([governed.profiles().map((row) => row.name), governed.issuers()], [["b", "a"], ["corp"]]);
    const buckets = await governed.budgets();
    const bucketRows = () => Array.from(buckets, (row) => [row.budget, row.bucket, row.key, row.used]);
    const expected = [
      ["y", "shared", null, 0],
      ["x", "shared", null, 0],
    ];
    assert.deepEqual(bucketRows(), expected, "also before their first use");
    assert.deepEqual(bucketRows(), expected, "as often as they are read");
  });

  test(`${name}: rows removed from the configuration are gone`, async () => {
    const { governed, configure } = open();
    configure({ profiles: ["a", "b"], issuers: ["corp"], budgets: ["x"] });
    configure({ ...NOTHING, profiles: ["b"] });
    assert.deepEqual(
      [governed.profiles().map((row) => row.name), governed.issuers(), [...(await governed.budgets())]],
      [["b"], [], []],
    );
  });

  test(`${name}: a listener is called at once for a new configuration until it unsubscribes`, () => {
    const { governed, configure } = open();
    const reported: string[] = [];
    const end = governed.onChange((what) => reported.push(what));
    configure({ ...NOTHING, profiles: ["a"] });
    end();
    configure({ ...NOTHING, profiles: ["b"] });
    assert.deepEqual(reported, ["configuration"]);
  });
}
