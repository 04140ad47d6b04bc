/** Contract of the port `CertificateStore`, run over the in-memory implementation and over the cluster's rows. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { CertificateStore, RowTable, RowWrite } from "../../../../../src/server/tls/index.ts";

const signal = (): AbortSignal => AbortSignal.timeout(10_000);
const rowOf = (table: RowTable, id: string, expect: number | null, value = "{}"): RowWrite => ({
  table,
  id,
  expect,
  value,
  names: table === "certificate" ? ["gw.example.com"] : [],
  notAfter: table === "certificate" ? 1_900_000_000_000 : null,
});

/** `open` returns the store of a leader. */
export function storeContract(name: string, open: () => Promise<CertificateStore>): void {
  test(`${name}: a missing row is undefined, and a written one is read with a counted version`, async () => {
    const store = await open();
    for (const table of ["certificate", "account"] as const) {
      assert.deepEqual(store.read(table, "one"), { kind: "none" });
      assert.equal(await store.write(rowOf(table, "one", null, '{"a":"ü\\n"}'), signal()), "stored");
      assert.deepEqual(store.read(table, "one"), { kind: "row", version: 1, value: '{"a":"ü\\n"}' });
      assert.equal(await store.write(rowOf(table, "one", 1, "{}"), signal()), "stored");
      assert.deepEqual(store.read(table, "one"), { kind: "row", version: 2, value: "{}" });
      assert.deepEqual(store.read(table, "on"), { kind: "none" });
    }
  });

  test(`${name}: a write against another version is stale and changes nothing`, async () => {
    const store = await open();
    for (const table of ["certificate", "account"] as const) {
      assert.equal(await store.write(rowOf(table, "one", 1), signal()), "stale");
      assert.deepEqual(store.read(table, "one"), { kind: "none" });
      await store.write(rowOf(table, "one", null, "first"), signal());
      for (const expect of [null, 2]) {
        assert.equal(await store.write(rowOf(table, "one", expect, "second"), signal()), "stale");
      }
      assert.deepEqual(store.read(table, "one"), { kind: "row", version: 1, value: "first" });
    }
  });

  test(`${name}: all rows of one table are listed, and none of the other`, async () => {
    const store = await open();
    const before = Date.now();
    await store.write(rowOf("certificate", "a", null), signal());
    await store.write({ ...rowOf("certificate", "b", null), notAfter: null }, signal());
    await store.write(rowOf("account", "c", null), signal());
    const certificates = store.certificates().map(({ id, version, notAfter }) => [id, version, notAfter]);
    assert.deepEqual(certificates.sort(), [
      ["a", 1, 1_900_000_000_000],
      ["b", 1, null],
    ]);
    const [account, ...others] = store.accounts();
    assert.deepEqual([account?.id, account?.version, others.length], ["c", 1, 0]);
    assert.ok((account?.at ?? 0) >= before - 5_000 && (account?.at ?? 0) <= Date.now() + 5_000, `${account?.at}`);
  });

  test(`${name}: a removed row is gone, and one changed since is kept`, async () => {
    const store = await open();
    for (const table of ["certificate", "account"] as const) {
      await store.write(rowOf(table, "one", null), signal());
      await store.write(rowOf(table, "one", 1), signal());
      await store.remove(table, "one", 1, signal());
      assert.equal(store.read(table, "one").kind, "row");
      await store.remove(table, "one", 2, signal());
      assert.deepEqual(store.read(table, "one"), { kind: "none" });
      await store.remove(table, "one", 2, signal());
      assert.equal(await store.write(rowOf(table, "one", null), signal()), "stored");
    }
  });

  test(`${name}: a listener is called for each change until it unsubscribes`, async () => {
    const store = await open();
    let calls = 0;
    const end = store.onChange(() => {
      calls += 1;
    });
    for (const table of ["certificate", "account"] as const) {
      const before = calls;
      await store.write(rowOf(table, "one", null), signal());
      assert.ok(calls > before, table);
    }
    end();
    const after = calls;
    await store.write(rowOf("certificate", "two", null), signal());
    assert.equal(calls, after);
  });

  test(`${name}: a leader reports itself, has everything acknowledged, and has replicated at once if it is alone`, async () => {
    const store = await open();
    assert.equal(store.isLeader(), true);
    await store.write(rowOf("account", "one", null), signal());
    await store.whenCaughtUp(signal());
    await store.whenReplicated(signal());
    assert.equal(store.read("account", "one").kind, "row");
  });

  test(`${name}: a signal ends a write before it begins`, async () => {
    const store = await open();
    await assert.rejects(store.write(rowOf("account", "one", null), AbortSignal.abort(new Error("stopped"))));
    assert.deepEqual(store.read("account", "one"), { kind: "none" });
  });
}
