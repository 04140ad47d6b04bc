/** Run by crash.test.ts as a second process: appends until it is killed, and reports each acknowledged write. */

import { writeSync } from "node:fs";
import { openStorage } from "../../../../src/server/cluster/storage/index.ts";

const [dir = "", round = "0"] = process.argv.slice(2);
const storage = await openStorage({ dir, nodeId: "a" });
const { log } = storage;
const term = Number(round) + 2;
const vote = { term, vote: "a", commit: 1 };
await log.append({ entries: [], hardState: vote, sync: true });
writeSync(1, `${term} ${log.lastIndex()}\n`);
for (let count = 1; ; count++) {
  const last = log.lastIndex();
  // Sometimes later entries are replaced, as by a new leader.
  const from = count % 50 === 0 ? Math.max(2, last - 5) : last + 1;
  const size = 1 + ((count * 7) % 40);
  const entries = Array.from({ length: size }, (_, at) => ({
    index: from + at,
    term,
    kind: "normal" as const,
    data: Buffer.from(`${term}:${from + at}:${"x".repeat((count * 131) % 3_000)}`),
  }));
  const replaced = from <= last;
  if (replaced) writeSync(1, `${term} ${from - 1}\n`);
  await log.append({ entries, hardState: undefined, sync: true });
  writeSync(1, `${term} ${log.lastIndex()}\n`);
}
