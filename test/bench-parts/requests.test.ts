/** Requests of the load generators: the credential of each, and that nothing else differs. */

import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { createRequests } from "../bench/child/requests.ts";

const SHAPE = { kind: "unary", model: "one" } as const;

function fileOf(t: TestContext, credentials: readonly string[]): string {
  const folder = mkdtempSync(join(tmpdir(), "bench-requests-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const file = join(folder, "keys.txt");
  writeFileSync(file, credentials.join("\n"));
  return file;
}

const credentialOf = (bytes: Buffer): string => /^Authorization: Bearer (.*)\r$/m.exec(bytes.toString())?.[1] ?? "";

describe("requests of a load", () => {
  it("have a body of the length that their head states", () => {
    const text = createRequests(SHAPE, 80)().toString();
    const [head = "", body = ""] = text.split("\r\n\r\n");
    assert.equal(Number(/^Content-Length: (\d+)$/m.exec(head)?.[1]), Buffer.byteLength(body));
    assert.equal(JSON.parse(body).model, "one");
  });

  it("use each credential of the file once before any again, in another order, and are otherwise equal", (t) => {
    const credentials = Array.from({ length: 10 }, (_, number) => `key-${number}`);
    const next = createRequests({ ...SHAPE, credentials: fileOf(t, credentials) }, 80);
    const sent = Array.from({ length: 20 }, next);
    const borne = sent.map(credentialOf);
    assert.deepEqual(borne.slice(0, 10).sort(), credentials);
    assert.notDeepEqual(borne.slice(0, 10), credentials);
    assert.deepEqual(borne.slice(10), borne.slice(0, 10));
    const rests = new Set(sent.map((bytes) => bytes.toString().replace(credentialOf(bytes), "")));
    assert.equal(rests.size, 1);
  });

  it("stay unchanged when the next one is made", (t) => {
    const next = createRequests({ ...SHAPE, credentials: fileOf(t, ["key-a", "key-b"]) }, 80);
    const first = next();
    const before = first.toString();
    for (let sent = 0; sent < 10; sent += 1) next();
    assert.equal(first.toString(), before);
  });

  it("cannot be made with credentials of different lengths", (t) => {
    const shape = { ...SHAPE, credentials: fileOf(t, ["short", "longer-one"]) };
    assert.throws(() => createRequests(shape, 80), /credentials of one length/);
  });

  it("have the additional headers that one server needs", () => {
    const text = createRequests({ ...SHAPE, headers: { "x-to": "there" } }, 80)().toString();
    assert.match(text, /\r\nx-to: there\r\n/);
  });

  it("use the given texts in turn", () => {
    const next = createRequests({ kind: "texts", texts: ["a", "b"] }, 80);
    assert.deepEqual([next(), next(), next()].map(String), ["a", "b", "a"]);
  });
});
