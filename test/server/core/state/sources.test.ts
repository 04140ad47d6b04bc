import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { decideApply } from "../../../../src/server/core/config/index.ts";
import {
  commands,
  readRevision,
  readSource,
  revisionRowKey,
  revisionsOf,
  sourceRowKey,
  VERSION_GUARD_LEVEL,
} from "../../../../src/server/core/state/index.ts";
import { type Bench, bench, HOUR, member, START } from "./harness.ts";

const sha256 = (content: string | Uint8Array) => createHash("sha256").update(content).digest("hex");

const fileOf = (text: string, version: number | null, trigger: "seed" | "start" | "reload") =>
  commands.sourcePut({
    name: "default",
    text,
    sha256: sha256(text),
    version,
    writer: "file",
    expect_revision: null,
    trigger,
  });

const apiOf = (name: string, text: string, expect_revision: number | null = null, version: number | null = null) =>
  commands.sourcePut({ name, text, sha256: sha256(text), version, writer: "api", expect_revision, trigger: "api" });

const inForce = ({ state }: Bench, name = "default") => {
  const value = state.get(sourceRowKey(name));
  return value === undefined ? undefined : readSource(value);
};
const textOf = (at: Bench, name: string): string | null | undefined => {
  const source = inForce(at, name);
  return source && readRevision(at.state.get(revisionRowKey(name, source.revision)) ?? "").text;
};

test("an initial document is active with all its details", () => {
  const at = bench();
  assert.deepEqual(at.ok(fileOf("a: 1\n", 3, "seed")), { revision: 1, applied: true });
  assert.deepEqual(inForce(at), {
    name: "default",
    revision: 1,
    writer: "file",
    version: 3,
    sha256: sha256("a: 1\n"),
    bytes: 5,
    at: START,
    by: { iss: "local", sub: "unix:0" },
  });
  assert.equal(textOf(at, "default"), "a: 1\n");
});

/** The transition table of specification document 1, over all of its inputs. */
test("a file is applied, kept, refused or left waiting according to the transition table", () => {
  const expected = { apply: "applied", keep: "kept", wait: "waits", refuse: undefined } as const;
  for (const trigger of ["seed", "start", "reload"] as const) {
    for (const storedVersion of [null, 1, 2]) {
      for (const version of [null, 1, 2, 3]) {
        for (const text of ["same", "other"]) {
          const at = bench();
          at.ok(fileOf("same", storedVersion, "seed"));
          const result = at.run(fileOf(text, version, trigger));
          const edition = (content: string, of: number | null) =>
            of === null ? { digest: content } : { digest: content, version: of };
          const { kind } = decideApply({
            trigger: trigger === "reload" ? "reload" : "start",
            stored: edition("same", storedVersion),
            document: edition(text, version),
          });
          const what = `${trigger} ${storedVersion} -> ${version} ${text}`;
          const refusal = version === storedVersion ? "version_reused" : "version_behind";
          const outcome =
            result.kind === "refused"
              ? result.code
              : JSON.stringify(result.value).includes('"applied":true')
                ? "applied"
                : "kept";
          assert.equal(outcome, expected[kind] ?? refusal, what);
          assert.equal(inForce(at)?.revision, outcome === "applied" ? 2 : 1, what);
          assert.equal(textOf(at, "default"), outcome === "applied" ? text : "same", what);
        }
      }
    }
  }
});

test("each row of the specification's table has its effect", () => {
  for (const [trigger, storedVersion, version, text, outcome] of [
    ["start", 1, 2, "other", "applied"],
    ["start", 2, 2, "other", "version_reused"],
    ["reload", 2, 2, "other", "version_reused"],
    ["start", 2, 1, "other", "version_behind"],
    ["reload", 2, 1, "other", "version_behind"],
    ["start", 1, null, "other", "waits"],
    ["start", null, null, "other", "waits"],
    ["reload", null, null, "other", "applied"],
    ["reload", 1, null, "other", "applied"],
    ["reload", 1, 2, "other", "applied"],
    ["reload", 2, 2, "same", "kept"],
  ] as const) {
    const at = bench();
    at.ok(fileOf("same", storedVersion, "seed"));
    const result = at.run(fileOf(text, version, trigger));
    const what = `${trigger} ${storedVersion} -> ${version} ${text}`;
    if (result.kind === "refused") assert.equal(result.code, outcome, what);
    else
      assert.deepEqual(
        result.value,
        outcome === "applied" ? { revision: 2, applied: true } : { revision: 1, applied: false },
        what,
      );
  }
});

const LEVEL = VERSION_GUARD_LEVEL;
const atLevel = (level: number): Bench => {
  const at = bench({ members: [member("n1", { feature: [1, LEVEL] })] });
  if (level > 1) at.ok(commands.featSet({ level }));
  return at;
};

/**
 * Versions applied in order (null: without a version, by a reload; "delete": the file gave it up), and the result of a
 * further version.
 */
const EDITIONS: readonly (readonly [readonly (number | null | "delete")[], number, "applied" | string])[] = [
  [[5, null], 4, "version_behind"],
  [[5, null], 5, "version_reused"],
  [[5, null], 6, "applied"],
  [[5, null, null, null], 4, "version_behind"],
  [[1, 5, null], 4, "version_behind"],
  [[5, null, 7, null], 6, "version_behind"],
  [[null, 5, null], 4, "version_behind"],
  [[null, null], 1, "applied"],
  [[5, null, "delete"], 4, "applied"],
  [[5, "delete", null], 4, "applied"],
  [[5, "delete", 3, null], 2, "version_behind"],
  [[5, ...Array.from({ length: 60 }, () => null)], 4, "version_behind"],
];

function applyAll(at: Bench, editions: (typeof EDITIONS)[number][0]): void {
  for (const [n, version] of editions.entries()) {
    if (version === "delete") at.ok(commands.sourceDelete({ name: "default", writer: "file", expect_revision: null }));
    else at.ok(fileOf(`text ${n}`, version, "reload"));
  }
}

test("after editions without a version the highest applied one is remembered, at a start and at a reload", () => {
  for (const trigger of ["start", "reload"] as const) {
    for (const [editions, version, outcome] of EDITIONS) {
      const at = atLevel(LEVEL);
      applyAll(at, editions);
      const result = at.run(fileOf("next", version, trigger));
      assert.equal(result.kind === "refused" ? result.code : "applied", outcome, `${editions} then ${version}`);
    }
  }
});

test("an edition stored below the feature level is judged by the kept revisions, and below it nothing is remembered", () => {
  for (const [editions, version, outcome] of EDITIONS.filter(([{ length }]) => length < 50)) {
    const at = atLevel(1);
    applyAll(at, editions);
    const before = inForce(at);
    assert.equal(before === undefined ? undefined : "highest" in before, before && false);
    at.ok(commands.featSet({ level: LEVEL }));
    const result = at.run(fileOf("next", version, "start"));
    assert.equal(result.kind === "refused" ? result.code : "applied", outcome, `${editions} then ${version}`);
  }
  const at = atLevel(LEVEL - 1);
  applyAll(at, [5, null]);
  at.ok(fileOf("next", 4, "start"));
});

test("an edition written through the admin API has no effect once a file loads the source again", () => {
  const at = atLevel(LEVEL);
  at.ok(apiOf("default", "by the API", null, 9));
  at.ok(commands.sourceDelete({ name: "default", writer: "api", expect_revision: null }));
  at.ok(fileOf("one", null, "seed"));
  at.ok(fileOf("two", 3, "start"));
});

test("while a file is the writer no one else can write", () => {
  const at = bench();
  at.ok(fileOf("a", 1, "seed"));
  assert.equal(at.refusal(apiOf("default", "b")), "file_owned");
  assert.equal(at.refusal(apiOf("more", "b")), "file_owned");
  const deletion = { name: "default", expect_revision: null } as const;
  assert.equal(at.refusal(commands.sourceDelete({ ...deletion, writer: "api" })), "file_owned");
  assert.equal(at.refusal(commands.sourceRollback({ name: "default", to: 1, expect_revision: null })), "file_owned");
  at.ok(commands.sourceDelete({ ...deletion, writer: "file" }));
  assert.deepEqual(at.ok(apiOf("default", "b")), { revision: 3, applied: true });
});

test("a file does not take over a source written through the API", () => {
  const at = bench();
  at.ok(apiOf("team-a", "x"));
  assert.equal(at.refusal(fileOf("a", 1, "seed")), "api_owned");
  assert.equal(
    at.refusal(commands.sourceDelete({ name: "team-a", writer: "file", expect_revision: null })),
    "api_owned",
  );
  at.ok(commands.sourceDelete({ name: "team-a", writer: "api", expect_revision: 1 }));
  at.ok(fileOf("a", 1, "seed"));
});

test("a write names the revision it is based on", () => {
  const at = bench();
  assert.equal(at.refusal(apiOf("a", "one", 1)), "stale");
  at.ok(apiOf("a", "one", 0));
  assert.equal(at.refusal(apiOf("a", "two", 0)), "stale");
  assert.deepEqual(at.ok(apiOf("a", "two", 1)), { revision: 2, applied: true });
  assert.equal(at.refusal(commands.sourceDelete({ name: "a", writer: "api", expect_revision: 1 })), "stale");
  assert.equal(at.refusal(commands.sourceRollback({ name: "a", to: 1, expect_revision: 1 })), "stale");
});

test("the same document again is no new revision, and a new version alone is one", () => {
  const at = bench();
  at.ok(apiOf("a", "one", null, 1));
  assert.deepEqual(at.ok(apiOf("a", "one", null, 1)), { revision: 1, applied: false });
  assert.deepEqual(at.ok(apiOf("a", "one", null, 2)), { revision: 2, applied: true });
});

test("revision numbers are never reused, even after a deletion", () => {
  const at = bench();
  at.ok(apiOf("a", "one"));
  at.ok(apiOf("a", "two"));
  at.ok(commands.sourceDelete({ name: "a", writer: "api", expect_revision: 2 }));
  assert.equal(inForce(at, "a"), undefined);
  assert.equal(at.refusal(commands.sourceDelete({ name: "a", writer: "api", expect_revision: null })), "not_found");
  assert.deepEqual(at.ok(apiOf("a", "two", 0)), { revision: 4, applied: true });
});

test("a rollback activates an earlier text as a new revision, also of a deleted source", () => {
  const at = bench();
  at.ok(apiOf("a", "one", null, 7));
  at.ok(apiOf("a", "two"));
  assert.deepEqual(at.ok(commands.sourceRollback({ name: "a", to: 1, expect_revision: 2 })), {
    revision: 3,
    applied: true,
  });
  assert.deepEqual([textOf(at, "a"), inForce(at, "a")?.version], ["one", 7]);
  at.ok(commands.sourceDelete({ name: "a", writer: "api", expect_revision: null }));
  at.ok(commands.sourceRollback({ name: "a", to: 2, expect_revision: 0 }));
  assert.equal(textOf(at, "a"), "two");
  for (const to of [4, 99]) {
    assert.equal(at.refusal(commands.sourceRollback({ name: "a", to, expect_revision: null })), "not_found");
  }
});

test("the last fifty revisions are kept", () => {
  const at = bench();
  for (let n = 1; n <= 60; n += 1) at.ok(apiOf("a", `text ${n}`));
  const kept = Array.from(at.state.scan(revisionsOf("a")), ([, value]) => readRevision(value).revision);
  assert.deepEqual(
    kept,
    Array.from({ length: 50 }, (_, n) => n + 11),
  );
  assert.equal(textOf(at, "a"), "text 60");
});

function upload(at: Bench, content: Buffer, parts: number): string {
  const digest = sha256(content);
  const size = Math.ceil(content.length / parts);
  // Uploads the last part first, since the order does not matter.
  for (let part = parts - 1; part >= 0; part -= 1) {
    const data = content.subarray(part * size, (part + 1) * size).toString("base64");
    at.ok(commands.blobPut({ sha256: digest, part, of: parts, data }));
  }
  return digest;
}

const fromBlob = (digest: string, parts: number, sha = digest) =>
  commands.sourcePut({
    name: "big",
    blob: { sha256: digest, parts },
    sha256: sha,
    version: null,
    writer: "api",
    expect_revision: null,
    trigger: "api",
  });

test("a large document is assembled from its parts, which are then removed", () => {
  const at = bench();
  const text = `# ünï\n${"key: value\n".repeat(100_000)}`;
  const digest = upload(at, Buffer.from(text), 5);
  at.ok(fromBlob(digest, 5));
  assert.equal(textOf(at, "big"), text);
  assert.deepEqual([...at.state.scan("blob/")], []);
});

test("an upload that is incomplete, differs from its announcement or is not text is refused", () => {
  const at = bench();
  const digest = upload(at, Buffer.from("abcdef"), 3);
  assert.equal(at.refusal(fromBlob(digest, 4)), "blob_incomplete");
  assert.equal(at.refusal(fromBlob(digest, 2)), "digest_mismatch");
  assert.equal(at.refusal(fromBlob(digest, 3, sha256("x"))), "digest_mismatch");
  assert.equal(at.refusal(fromBlob(sha256("x"), 3)), "blob_incomplete");
  assert.equal(at.refusal(fromBlob(upload(at, Buffer.of(0xff), 1), 1)), "invalid");
  at.ok(fromBlob(digest, 3));
});

test("a document whose row would not fit a snapshot is refused", () => {
  const at = bench();
  const content = Buffer.alloc(4 * 1_048_576, 0x22);
  assert.equal(at.refusal(fromBlob(upload(at, content, 8), 8)), "too_large");
});

test("parts are limited in size and number", () => {
  const at = bench();
  const digest = sha256("x");
  const part = { sha256: digest, part: 0, of: 2, data: "eA==" };
  for (const p of [
    { ...part, part: 2 },
    { ...part, of: 257 },
    { ...part, data: "" },
    { ...part, data: "e" },
    { ...part, data: Buffer.alloc(524_289).toString("base64") },
    { ...part, sha256: "x" },
  ]) {
    assert.equal(at.refusal(commands.blobPut(p)), "invalid");
  }
  at.ok(commands.blobPut(part));
  at.ok(commands.blobPut(part));
  assert.equal(at.refusal(commands.blobPut({ ...part, of: 3 })), "conflict");
  assert.equal(at.refusal(commands.blobPut({ ...part, sha256: sha256("y"), of: 255 })), "blob_limit");
});

test("unused content is dropped an hour after its last part", () => {
  const at = bench();
  const part = { sha256: sha256("x"), of: 2, data: "eA==" };
  at.ok(commands.blobPut({ ...part, part: 0 }));
  at.now += HOUR - 1;
  at.ok(commands.blobPut({ ...part, part: 1 }));
  at.now += HOUR - 1;
  at.ok(apiOf("a", "1"));
  assert.equal([...at.state.scan("blob/")].length, 3);
  at.now += 1;
  at.ok(apiOf("a", "2"));
  assert.deepEqual([...at.state.scan("blob/")], []);
});

test("malformed fields are refused", () => {
  const text = "a";
  const good = {
    name: "a",
    text,
    sha256: sha256(text),
    version: null,
    writer: "api",
    expect_revision: null,
    trigger: "api",
  };
  const at = bench();
  for (const [p, code] of [
    [{ ...good, sha256: sha256("b") }, "digest_mismatch"],
    [{ ...good, name: "../a" }, "invalid"],
    [{ ...good, name: "-" }, "invalid"],
    [{ ...good, text: undefined }, "invalid"],
    [{ ...good, blob: { sha256: good.sha256, parts: 1 } }, "invalid"],
    [{ ...good, version: 0 }, "invalid"],
    [{ ...good, writer: "file" }, "invalid"],
    [{ ...good, writer: "file", trigger: "seed" }, "invalid"],
    [{ ...good, trigger: "seed" }, "invalid"],
    [{ ...good, expect_revision: -1 }, "invalid"],
  ] as const) {
    assert.equal(at.refusal({ t: "source.put", v: 1, p }), code, JSON.stringify(p));
  }
});
