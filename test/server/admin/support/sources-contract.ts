/** Contract of the port `Sources`, run over the in-memory and the real implementation. */

import assert from "node:assert/strict";
import { test } from "node:test";
import type { SourceOutcome, Sources } from "../../../../src/server/admin/index.ts";

interface SourcesUnderTest {
  readonly sources: Sources;
  /** A document that compiles, another one, and one that does not. */
  readonly documents: { readonly sound: string; readonly other: string; readonly broken: string };
}

const write = { by: { iss: "local", sub: "unix:7" }, timeoutMs: 5_000 };
const { signal } = new AbortController();

function done<T>(outcome: SourceOutcome<T>): T {
  assert.equal(outcome.kind, "done");
  return (outcome as Extract<SourceOutcome<T>, { kind: "done" }>).value;
}

export function sourcesContract(name: string, open: () => Promise<SourcesUnderTest>): void {
  test(`${name}: a document is kept as written under an increasing revision`, async () => {
    const { sources, documents } = await open();
    assert.deepEqual(sources.list(), []);
    const change = { name: "a", document: documents.sound, ifRevision: undefined };
    assert.deepEqual([done(await sources.put(change, write)).changed, sources.list()[0]?.revision], [true, 1]);
    assert.equal(await sources.document("a", undefined, signal), documents.sound);
    const second = done(await sources.put({ ...change, document: documents.other }, write));
    assert.equal(second.revision, 2);
    assert.equal(await sources.document("a", 1, signal), documents.sound);
    assert.equal(await sources.document("a", 3, signal), undefined);
    assert.deepEqual(
      sources.revisions("a")?.map(({ revision, by }) => [revision, by]),
      [
        [2, "unix:7"],
        [1, "unix:7"],
      ],
    );
  });

  test(`${name}: writing the stored document again makes no revision`, async () => {
    const { sources, documents } = await open();
    const change = { name: "a", document: documents.sound, ifRevision: undefined };
    await sources.put(change, write);
    const again = done(await sources.put(change, write));
    assert.deepEqual([again.changed, again.revision, again.differences], [false, 1, []]);
  });

  test(`${name}: a document that does not compile changes nothing and reports the place`, async () => {
    const { sources, documents } = await open();
    const change = { name: "a", document: documents.broken, ifRevision: undefined };
    for (const outcome of [await sources.put(change, write), await sources.dryRun(change, signal)]) {
      assert.ok(outcome.kind === "refused");
      assert.equal(outcome.problems[0]?.source, "a");
      assert.ok((outcome.problems[0]?.line ?? 0) > 0);
    }
    assert.deepEqual(sources.list(), []);
  });

  test(`${name}: a dry run changes nothing`, async () => {
    const { sources, documents } = await open();
    const dry = done(await sources.dryRun({ name: "a", document: documents.sound, ifRevision: 0 }, signal));
    assert.deepEqual([dry.changed, dry.revision], [true, 0]);
    assert.deepEqual(sources.list(), []);
  });

  test(`${name}: a write against a revision that is not the newest rejects as stale`, async () => {
    const { sources, documents } = await open();
    const change = { name: "a", document: documents.sound, ifRevision: 3 };
    await assert.rejects(sources.put(change, write), { code: "stale" });
    done(await sources.put({ ...change, ifRevision: 0 }, write));
    await assert.rejects(sources.put({ ...change, document: documents.other, ifRevision: 0 }, write), {
      code: "stale",
    });
    await assert.rejects(sources.delete("a", 2, write), { code: "stale" });
    await assert.rejects(sources.rollback({ name: "a", to: 1, ifRevision: 2 }, write), { code: "stale" });
  });

  test(`${name}: a rollback writes an earlier document as the newest revision`, async () => {
    const { sources, documents } = await open();
    const change = { name: "a", document: documents.sound, ifRevision: undefined };
    await sources.put(change, write);
    await sources.put({ ...change, document: documents.other }, write);
    assert.equal(done(await sources.rollback({ name: "a", to: 1, ifRevision: 2 }, write)).revision, 3);
    assert.equal(await sources.document("a", undefined, signal), documents.sound);
    await assert.rejects(sources.rollback({ name: "a", to: 9, ifRevision: undefined }, write), { code: "not_found" });
  });

  test(`${name}: a deleted source is gone, and deleting an unknown one returns false`, async () => {
    const { sources, documents } = await open();
    assert.equal(done(await sources.delete("a", undefined, write)), false);
    await sources.put({ name: "a", document: documents.sound, ifRevision: undefined }, write);
    assert.equal(done(await sources.delete("a", 1, write)), true);
    assert.deepEqual([sources.list(), sources.revisions("a")], [[], undefined]);
  });

  test(`${name}: the configuration lists its sources`, async () => {
    const { sources, documents } = await open();
    await sources.put({ name: "a", document: documents.sound, ifRevision: undefined }, write);
    assert.deepEqual(sources.config().sources, [{ name: "a", revision: 1 }]);
  });
}
