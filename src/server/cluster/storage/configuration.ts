/** The configuration at an index: that of the snapshot, then each change of the log behind it. */

import { applyChange, type Configuration, decodeConfChange, type LogReader } from "../../core/raft/index.ts";

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

/** After the change that the data of an entry holds. Every leader checks before it proposes, so all can be made. */
export function configurationAfter(configuration: Configuration, data: Uint8Array): Configuration {
  const outcome = applyChange(configuration, decodeConfChange(data));
  if (outcome.kind === "refused") throw new Error(`a change of the configuration cannot be made: ${outcome.reason}`);
  return outcome.configuration;
}
