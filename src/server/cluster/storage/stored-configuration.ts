/** Computes the configuration at an index: the snapshot's, then each later change of the log. */

import { applyChange, type Configuration, decodeConfChange, type LogReader } from "../../core/raft/index.ts";

/** Number of bytes of entries read at a time. */
const SLICE_BYTES = 1 << 20;

/** Returns the configuration up to and including `index`, or that of the snapshot if it is not older. */
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

/**
 * Returns the configuration after the change in an entry's data. Every leader checks a change before it proposes it, so it
 * always applies.
 */
export function configurationAfter(configuration: Configuration, data: Uint8Array): Configuration {
  const outcome = applyChange(configuration, decodeConfChange(data));
  if (outcome.kind === "refused") throw new Error(`a change of the configuration cannot be made: ${outcome.reason}`);
  return outcome.configuration;
}
