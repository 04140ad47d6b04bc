/** Snapshot archives with many virtual keys, made from a saved one without minting the keys through a gateway. */

import { createHash, randomBytes } from "node:crypto";
import { createReadStream, createWriteStream } from "node:fs";
import { writeFile } from "node:fs/promises";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { mintKey } from "../../../src/server/auth/virtual-key.ts";
import { readArchive, writeArchive } from "../../../src/server/cluster/snapshots/archive.ts";
import { keyIdRowKey, keyIdRows, keyRowKey, keyRows } from "../../../src/server/core/state/commands/keys.ts";
import { createStateEncoder } from "../../../src/server/core/state/index.ts";
import { teamOf } from "../admin/plane.ts";
import { PROFILE } from "../parts/governed-deployment.ts";

export interface KeyArchive {
  readonly path: string;
  /** File with the text of one key per line. */
  readonly credentials: string;
  readonly stateBytes: number;
}

const ROWS_A_WRITE = 4_096;

export const keyName = (number: number): string => `key-${String(number).padStart(7, "0")}`;

/** Adds `count` keys to the rows of the archive `saved`; writes the new archive and the texts of its keys to `folder`. */
export async function makeKeyArchive(saved: string, count: number, folder: string): Promise<KeyArchive> {
  const rows: [key: string, value: string][] = [];
  const visit = (key: string, value: string): void => {
    rows.push([key, value]);
  };
  const statePath = `${folder}/state-${count}.bin`;
  const never = new AbortController().signal;
  const { meta } = await readArchive(createReadStream(saved), statePath, visit, never);
  const texts: string[] = [];
  for (let number = 0; number < count; number++) {
    const { id, text, digest } = mintKey(randomBytes);
    const name = keyName(number);
    const metadata = { team: teamOf(number), env: "prod" };
    const row = { id, name, profile: PROFILE, metadata, digest, created_at: 1_700_000_000_000, expires_at: null };
    rows.push([keyRowKey(name), keyRows.write(row)], [keyIdRowKey(id), keyIdRows.write(name)]);
    texts.push(text);
  }
  rows.sort(([one], [other]) => (one < other ? -1 : 1));
  const encoder = createStateEncoder();
  const hash = createHash("sha256");
  let stateBytes = 0;
  function* bytes(): Generator<Uint8Array> {
    let pieces: Uint8Array[] = [encoder.header()];
    const take = (): Buffer => {
      const chunk = Buffer.concat(pieces);
      pieces = [];
      hash.update(chunk);
      stateBytes += chunk.length;
      return chunk;
    };
    for (const [key, value] of rows) {
      if (pieces.push(encoder.row(key, value)) >= ROWS_A_WRITE) yield take();
    }
    pieces.push(encoder.end());
    yield take();
  }
  await pipeline(Readable.from(bytes()), createWriteStream(statePath));
  const path = `${folder}/keys-${count}.tar.gz`;
  const made = { ...meta, ...encoder.summary, size: stateBytes };
  await pipeline(Readable.from(writeArchive(made, statePath, hash.digest("hex"))), createWriteStream(path));
  const credentials = `${folder}/keys-${count}.txt`;
  await writeFile(credentials, texts.join("\n"), { mode: 0o600 });
  return { path, credentials, stateBytes };
}
