/** Effects of the driver: disk, network and state of its replica. */

import { performance } from "node:perf_hooks";
import type { Log } from "../../../base/index.ts";
import type { RaftStatus } from "../../core/raft/index.ts";
import type { Network } from "../network.ts";
import type { SnapshotRecord, Storage } from "../storage/index.ts";
import { type AppliedState, snapshotKeyOf } from "./applied-state.ts";
import type { DriverPorts } from "./driver-types.ts";
import type { StateWriter } from "./state-writer.ts";

interface DriverPortsParts {
  readonly storage: Storage;
  readonly machine: AppliedState;
  readonly writer: StateWriter;
  readonly network: Network;
  /** Snapshots whose files have arrived, by name. */
  readonly received: Map<string, SnapshotRecord>;
  readonly log: Log;
  hasFailed(): boolean;
  fault(error: unknown): void;
  stop(): void;
  sendSnapshot: DriverPorts["sendSnapshot"];
  /** Reports the duration of a durable log write. */
  onSynced(seconds: number): void;
  onStatus(status: RaftStatus): void;
}

export function createDriverPorts(parts: DriverPortsParts): DriverPorts {
  const { storage, machine, writer, network, received, log, fault } = parts;
  return {
    write(write, done) {
      const begun = performance.now();
      storage.log.append(write).then(() => {
        if (write.sync) parts.onSynced((performance.now() - begun) / 1_000);
        done();
      }, fault);
    },
    install(snapshot, hardState, done) {
      const record = received.get(snapshotKeyOf(snapshot));
      if (record === undefined) {
        fault(new Error(`the file of snapshot ${snapshotKeyOf(snapshot)} is missing`));
        return;
      }
      received.clear();
      machine.install(record, storage.snapshotPath(snapshot), hardState).then(() => {
        log.info("a snapshot was installed", { index: record.index, rows: record.rows, bytes: record.size });
        done();
      }, fault);
    },
    send: (message) => network.send(message),
    sendSnapshot: parts.sendSnapshot,
    apply(entry, change) {
      try {
        return machine.apply(entry, change);
      } catch (error) {
        fault(error);
        parts.stop();
        return undefined;
      }
    },
    mayApply: () => writer.mayApply() && !parts.hasFailed(),
    onStatus: parts.onStatus,
  };
}
