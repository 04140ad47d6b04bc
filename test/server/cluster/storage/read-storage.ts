/**
 * Run by damage.test.ts as a second process: opens the given directories, and reports their content. LevelDB crashes
 * its process on some contradictory bytes.
 */

import { createHash } from "node:crypto";
import { openStorage, StorageError } from "../../../../src/server/cluster/storage/index.ts";
import { digestOf } from "../../../../src/server/core/state/index.ts";
import { contents } from "./fixtures.ts";

export type Found =
  | { readonly kind: "read"; readonly digest: string }
  /** Refused at the opening or while reading; rows are also judged by their digest. */
  | { readonly kind: "refused" }
  | { readonly kind: "failed"; readonly message: string };

process.on("message", (dir: string) => {
  read(dir).then((found) => process.send?.(found));
});

async function read(dir: string): Promise<Found> {
  try {
    const storage = await openStorage({ dir, nodeId: "a" });
    try {
      const rows: (readonly [string, string])[] = [];
      for await (const slice of storage.state().load()) rows.push(...slice);
      if (digestOf(rows) !== storage.state().applied.digest) return { kind: "refused" };
      const held = JSON.stringify([contents(storage), rows]);
      return { kind: "read", digest: createHash("sha256").update(held).digest("hex") };
    } finally {
      await storage.close().catch(() => undefined);
    }
  } catch (error) {
    if (error instanceof StorageError && error.code === "damaged") return { kind: "refused" };
    return { kind: "failed", message: String(error) };
  }
}
