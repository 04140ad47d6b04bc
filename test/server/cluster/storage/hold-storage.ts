/** Run by data-dir.test.ts as a second process: opens a data directory, reports the result, and keeps it open. */

import { openStorage, StorageError } from "../../../../src/server/cluster/storage/index.ts";

const [dir = "", nodeId = ""] = process.argv.slice(2);
try {
  const { path } = await openStorage({ dir, nodeId });
  process.send?.({ kind: "opened", path });
  process.on("message", () => {}); // the channel keeps the process alive, and with it the lock
} catch (error) {
  const code = error instanceof StorageError ? error.code : "unexpected";
  process.send?.({ kind: "refused", code, message: String(error) }, () => process.disconnect());
}
