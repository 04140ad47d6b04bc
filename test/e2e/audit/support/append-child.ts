/**
 * A process that writes a trail until it is killed or has written the requested records.
 *
 * It reports through files: each witnessed head (synced, as a quorum would have it), and the id of each record that is
 * acknowledged as being in the journal.
 */

import { appendFileSync, closeSync, existsSync, fsyncSync, openSync, readFileSync, writeSync } from "node:fs";
import { createInstruments, nullLog } from "../../../../src/base/index.ts";
import { type AuditHead, openAudit } from "../../../../src/server/audit/index.ts";

export interface ChildJob {
  readonly dir: string;
  readonly output: string;
  readonly heads: string;
  readonly journaled: string;
  /** Prefix of every id, so that ids differ from start to start. */
  readonly name: string;
  /** `undefined` writes until it is killed. */
  readonly records: number | undefined;
}

/** Records awaited concurrently, beside as many that are not awaited. */
const IN_FLIGHT = 64;

const job = JSON.parse(process.argv[2] ?? "") as ChildJob;
const trail = await openAudit({
  nodeId: "n1",
  dir: job.dir,
  fd: openSync(job.output, "a"),
  process: { version: "0.0.0", pid: process.pid },
  witnessed: lastHead,
  async witness(head) {
    const fd = openSync(job.heads, "a");
    writeSync(fd, `${JSON.stringify({ node: "n1", ...head })}\n`);
    fsyncSync(fd);
    closeSync(fd);
  },
  log: nullLog,
  instruments: createInstruments(),
});

function lastHead(): AuditHead | undefined {
  if (!existsSync(job.heads)) return undefined;
  const line = readFileSync(job.heads, "utf8").trimEnd().split("\n").at(-1) ?? "";
  const { kid, seq, hash } = JSON.parse(line) as AuditHead;
  return { kid, seq, hash };
}

let made = 0;
async function recordOn(): Promise<void> {
  while (job.records === undefined || made < job.records) {
    made += 1;
    const id = `${job.name}-${made}`;
    const event = { event: "access.decision", data: { id, rule: "no-exports", verdict: "deny" } } as const;
    trail.append({ ...event, data: { ...event.data, id: `${id}-appended` } });
    await trail.reserve().record(event);
    appendFileSync(job.journaled, `${id}\n`);
  }
}

await Promise.all(Array.from({ length: IN_FLIGHT }, recordOn));
await trail.close();
