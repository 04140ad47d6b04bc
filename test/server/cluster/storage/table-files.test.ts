/** Tables of a real database, intact and with each of their bytes changed. */

import assert from "node:assert/strict";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { ClassicLevel } from "classic-level";
import { crc32c, findTableFault } from "../../../../src/server/cluster/storage/table-files.ts";

/** Values that snappy compresses and some that it cannot, over several blocks. */
function* rows(): Generator<readonly [string, Buffer]> {
  for (let at = 0; at < 400; at += 1) {
    const isPacked = at % 2 === 0;
    const value = isPacked
      ? Buffer.alloc(300, `row ${at} `)
      : Buffer.from(Array.from({ length: 90 }, (_, i) => (i * i * (at + 7)) % 251));
    yield [`key-${String(at).padStart(6, "0")}`, value];
  }
}

/** A closed database with one table; resolves with its folder and the table's path. */
async function databaseWith(t: TestContext, compression: boolean): Promise<{ folder: string; table: string }> {
  const folder = await mkdtemp(join(tmpdir(), "gateway-tables-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const level = new ClassicLevel<string, Buffer>(folder, { valueEncoding: "buffer", compression });
  await level.open();
  const batch = level.batch();
  for (const [key, value] of rows()) batch.put(key, value);
  await batch.write();
  await level.compactRange("a", "z");
  await level.close();
  const [name] = (await readdir(folder)).filter((each) => each.endsWith(".ldb"));
  assert.ok(name !== undefined, "no table was written");
  return { folder, table: join(folder, name) };
}

test("the checksum is CRC-32C", () => {
  // RFC 3720 appendix B.4.
  assert.equal(crc32c(Buffer.alloc(32)), 0x8a9136aa);
  assert.equal(crc32c(Buffer.alloc(32, 0xff)), 0x62a8ab43);
  assert.equal(crc32c(Buffer.from("123456789")), 0xe3069283);
});

for (const compression of [true, false]) {
  test(`a changed byte of a table is detected, ${compression ? "packed" : "unpacked"}`, async (t) => {
    const { folder, table } = await databaseWith(t, compression);
    assert.equal(await findTableFault(folder), undefined);
    const whole = await readFile(table);
    // Padding of the footer's handles has no meaning, and a file without its magic number is not a table.
    const end = whole.length - 48;
    let missed = 0;
    for (let at = 0; at < end; at += 1 + Math.floor(end / 600)) {
      const bytes = Buffer.from(whole);
      bytes[at] = (bytes[at] ?? 0) ^ (1 << (at % 8));
      await writeFile(table, bytes);
      const fault = await findTableFault(folder);
      if (fault === undefined) missed += 1;
      else assert.match(fault, /^the table \d+\.ldb has a damaged (?:index|block at byte \d+)$/);
    }
    assert.equal(missed, 0, `of ${whole.length} bytes`);
    await writeFile(table, whole);
    assert.equal(await findTableFault(folder), undefined);
  });
}

test("files left unfinished by a crash are not tables, and a missing database is no error", async (t) => {
  const { folder, table } = await databaseWith(t, true);
  const whole = await readFile(table);
  await writeFile(join(folder, "999999.ldb"), whole.subarray(0, whole.length - 1));
  await writeFile(join(folder, "999998.ldb"), "");
  assert.equal(await findTableFault(folder), undefined);
  assert.equal(await findTableFault(join(folder, "nowhere")), undefined);
});
