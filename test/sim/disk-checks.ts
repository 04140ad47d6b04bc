/** Checks of a disk job, and of what a node may append, before the job takes effect. */

import type { LogWrite } from "../../src/server/cluster/storage/types.ts";
import type { DiskJob } from "./disk.ts";
import type { Ledger } from "./ledger.ts";
import { must } from "./violation.ts";
import type { SimNode } from "./world.ts";

/** A committed entry may leave a log only when a snapshot covers it. */
export function checkJob(node: SimNode, job: DiskJob, ledger: Ledger): void {
  const { disk } = node;
  const isCommitted = (index: number): boolean =>
    index <= ledger.lastCommitted && disk.at(index) === ledger.committed(index).link;
  if (job.kind === "install") {
    const { meta, link } = job.file;
    must(
      disk.at(meta.index) !== link,
      "snapshot in place of a log that agrees",
      () => `${node.id} installs ${meta.index}/${meta.term}, which its log holds, ..${disk.lastIndex}`,
    );
    return;
  }
  if (job.kind !== "write") return;
  const first = job.write.entries[0];
  const last = job.write.entries.at(-1);
  if (first === undefined || last === undefined || first.index > disk.lastIndex) return;
  const isReplaced = disk.at(first.index)?.term !== first.term && isCommitted(first.index);
  must(
    !isReplaced && !isCommitted(last.index + 1),
    "committed entries stay",
    () => `${node.id} writes ${first.index}..${last.index} over what is committed, ..${disk.lastIndex}`,
  );
}

/**
 * A leader appends a configuration change only after applying all earlier ones: two changes of the same configuration
 * may have disjoint quorums.
 */
export function checkChanges(node: SimNode, { entries }: LogWrite): void {
  const status = node.driver?.status();
  if (status?.role !== "leader") return;
  const queued = node.jobs.flatMap(({ job }) => (job.kind === "write" ? job.write.entries : []));
  for (const { kind, term, index } of entries) {
    if (kind !== "conf-change" || term !== status.term) continue;
    const isEarlier = (other: { readonly index: number; readonly kind: string } | undefined): boolean =>
      other?.kind === "conf-change" && other.index < index && other.index > node.machine.appliedIndex;
    let isAlone = ![...queued, ...entries].some(isEarlier);
    for (let at = node.machine.appliedIndex + 1; at < index; at += 1) {
      if (isEarlier(node.disk.at(at)?.entry)) isAlone = false;
    }
    must(
      isAlone,
      "one change at a time",
      () =>
        `${node.id} appends a change at ${index}, has applied ..${node.machine.appliedIndex}, and another is between`,
    );
  }
}
