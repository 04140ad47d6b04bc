/**
 * Opens the data listener of a node that only inspects once there is something to route. Source: design decisions, section 19.
 */
import type { Log } from "../../base/index.ts";
import type { Snapshot } from "../snapshot/index.ts";

export const hasRoutes = ({ providers, fronted }: Snapshot): boolean => providers.length + fronted.all.length > 0;

/** Opens the listener at the first snapshot that has something to route; if that fails, tries again with the next. */
export function openWhenRoutable(open: (snapshot: Snapshot) => Promise<void>, log: Log): (snapshot: Snapshot) => void {
  let isOpen = false;
  return (snapshot) => {
    if (isOpen || !hasRoutes(snapshot)) return;
    isOpen = true;
    open(snapshot).then(
      () => log.info("the data plane began to listen, since the deployment now has something to route"),
      (error: unknown) => {
        isOpen = false;
        log.error("the data plane cannot listen, so requests are not served", { error });
      },
    );
  };
}

/** Log line of a node without a data directory. */
export const NO_DATA_DIR_MESSAGE =
  "`cluster.data_dir` is not set, so this node keeps its state in memory and signs its audit trail with a temporary key";
