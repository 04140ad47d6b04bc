/**
 * All that the data plane needs of the rest of the node. Values could cross a process boundary: a snapshot is frozen,
 * counters only grow, nothing here waits for a disk or another node.
 */
import type { Log } from "../../base/index.ts";
import type { Snapshot } from "../snapshot/index.ts";
import type { Origins } from "../upstream/index.ts";
import type { Admission } from "./admission.ts";
import type { DataplaneMetrics } from "./metrics.ts";
import type { Statistics } from "./statistics.ts";
import type { Tracing } from "./tracing.ts";

export interface Ports {
  /** The compiled configuration now in force. Listeners open only after the first one exists. */
  snapshot(): Snapshot;
  readonly origins: Origins;
  readonly admission: Admission;
  readonly metrics: DataplaneMetrics;
  /** Absent where nobody can ask for them: in flag mode, which has no admin plane. */
  readonly statistics?: Statistics;
  /** Absent when traces are not exported. */
  readonly tracing?: Tracing | undefined;
  readonly log: Log;
}
