/** Parts of a node that open last, though earlier parts refer to them: each is `undefined` until it is open. */
import { withResolvers } from "../../base/index.ts";
import type { Inspector } from "../inspector/index.ts";
import type { Snapshot } from "../snapshot/index.ts";
import type { AdminListeners } from "./admin/open-admin-plane.ts";
import type { DataPlane } from "./start.ts";

export interface LateParts {
  /** Snapshot in force. */
  snapshot: Snapshot | undefined;
  adminListeners: AdminListeners | undefined;
  inspector: Inspector | undefined;
  dataPlane: DataPlane | undefined;
  /** Receives each snapshot until there is something to route; `undefined` if the data plane opens at once. */
  openWhenRoutable: ((snapshot: Snapshot) => void) | undefined;
  readonly firstSnapshot: ReturnType<typeof withResolvers<Snapshot>>;
  /** Resolved once the data listener is open. */
  readonly dataListener: ReturnType<typeof withResolvers<void>>;
}

export const createLateParts = (): LateParts => ({
  snapshot: undefined,
  adminListeners: undefined,
  inspector: undefined,
  dataPlane: undefined,
  openWhenRoutable: undefined,
  firstSnapshot: withResolvers<Snapshot>(),
  dataListener: withResolvers(),
});
