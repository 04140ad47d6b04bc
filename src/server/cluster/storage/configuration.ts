/**
 * The configuration at an index: that of the snapshot, then each change of the log behind it. How a change takes effect
 * is known to the consensus core alone, so a core that does nothing else is asked.
 */

import {
  type Configuration,
  createMemoryLog,
  createRaft,
  decodeConfChange,
  type LogReader,
} from "../../core/raft/index.ts";

/** Entries looked at in one reading. */
const SLICE_BYTES = 1 << 20;

/** At most up to and with `index`, and that of the snapshot where it is not before. */
export function configurationOf(log: LogReader, index: number): Configuration {
  const snapshot = log.snapshot();
  let configuration = snapshot.configuration;
  const last = Math.min(index, log.lastIndex());
  let at = snapshot.index + 1;
  while (at <= last) {
    for (const entry of log.entries(at, last + 1, SLICE_BYTES)) {
      if (entry.kind === "conf-change") configuration = configurationAfter(configuration, entry.data);
      at = entry.index + 1;
    }
  }
  return configuration;
}

/** After the change that the data of an entry holds. */
export function configurationAfter(configuration: Configuration, data: Uint8Array): Configuration {
  const core = createRaft({
    id: "observer",
    log: createMemoryLog({ snapshot: { index: 0, term: 0, configuration } }),
    applied: 0,
    electionTicks: 10,
    heartbeatTicks: 1,
    maxMessageBytes: 1,
    maxInflightMessages: 1,
    maxInflightBytes: 1,
    maxUncommittedBytes: 1,
    maxUncommittedEntries: 1,
    maxApplyingBytes: 1,
    random: () => 0,
  });
  return core.applyConfChange(decodeConfChange(data));
}
