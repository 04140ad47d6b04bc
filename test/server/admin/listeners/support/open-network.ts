/** An admin listener over in-memory ports. */

import type { TestContext } from "node:test";
import { type Access, PERMIT_ALL } from "../../../../../src/server/admin/access/types.ts";
import { openAdminPlane } from "../../../../../src/server/admin/admin-plane.ts";
import {
  type AdminListener,
  type AdminListenerOptions,
  openAdminListener,
} from "../../../../../src/server/admin/listeners/admin-listener.ts";
import type { AuditEntry } from "../../../../../src/server/admin/ports.ts";
import { handlerPorts } from "../../support/handler-ports.ts";

interface OpenNetwork {
  readonly listener: AdminListener;
  readonly port: number;
  /** Recorded data of unauthenticated callers. */
  readonly failures: readonly AuditEntry["data"][];
  /** Returns everything recorded, as text. */
  readonly recorded: () => string;
}

export async function openNetwork(
  t: TestContext,
  over: Partial<Omit<AdminListenerOptions, "plane">> = {},
  access: Access = PERMIT_ALL,
): Promise<OpenNetwork> {
  const failures: AuditEntry["data"][] = [];
  const entries: AuditEntry[] = [];
  const ports = handlerPorts({
    audit: {
      reserve: () => ({
        record: async (entry) => void entries.push(entry),
        release() {},
      }),
      authFailure: (data) => void failures.push(data),
      recent: () => [],
    },
  });
  const plane = openAdminPlane(ports, access);
  const listener = await openAdminListener({ address: "127.0.0.1:0", plane, tokens: undefined, ...over });
  t.after(() => listener.close(0));
  return { listener, port: listener.port, failures, recorded: () => JSON.stringify([failures, entries]) };
}
