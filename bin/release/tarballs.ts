/** Compares two tarballs file by file, to show what differs if a build is not reproducible. */

import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { extract } from "tar-stream";

/** Maximum size of an unpacked tarball, in bytes. */
const MAX_BYTES = 256 << 20;

/** Returns one line per entry that differs. */
export async function differences(one: string, other: string): Promise<readonly string[]> {
  const [a, b] = [await entriesOf(one), await entriesOf(other)];
  const names = [...new Set([...a.keys(), ...b.keys()])].sort();
  const differing = names.flatMap((name) => {
    const [first, second] = [a.get(name), b.get(name)];
    if (first === second) return [];
    if (first === undefined || second === undefined) return [`${name}: only in one of them`];
    return [`${name}: ${first} and ${second}`];
  });
  if (differing.length > 0) return differing;
  const isSameOrder = [...a.keys()].join("\n") === [...b.keys()].join("\n");
  return [isSameOrder ? "the compression differs, and no file" : "the order of the files differs"];
}

/** Returns mode, time and content digest of each entry, as a text by entry name. */
async function entriesOf(path: string): Promise<ReadonlyMap<string, string>> {
  const found = new Map<string, string>();
  const archive = extract();
  archive.end(gunzipSync(readFileSync(path), { maxOutputLength: MAX_BYTES }));
  for await (const entry of archive) {
    const hash = createHash("sha256");
    for await (const chunk of entry) hash.update(chunk as Uint8Array);
    const { name, mode, mtime } = entry.header;
    found.set(name, `${mode?.toString(8)} ${mtime?.toISOString()} ${hash.digest("hex").slice(0, 12)}`);
  }
  return found;
}
