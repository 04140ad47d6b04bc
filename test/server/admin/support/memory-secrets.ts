/** In-memory sealed secrets. */

import { createHmac } from "node:crypto";
import type { SecretRecord } from "../../../../src/admin-api/index.ts";
import type { Secrets } from "../../../../src/server/admin/index.ts";

export function createMemorySecrets(now: () => number): Secrets {
  const records = new Map<string, SecretRecord>();
  return {
    list: () => [...records.values()].sort((a, b) => (a.name < b.name ? -1 : 1)),
    async put(name) {
      const version = (records.get(name)?.version ?? 0) + 1;
      const record = { name, version, updated_at: new Date(now()).toISOString(), kek: "s:1f0a2b3c" };
      records.set(name, record);
      return record;
    },
    delete: async (name) => records.delete(name),
    rewrap: async () => ({ kek: "s:1f0a2b3c", data_keys: 1 }),
    requestDigest: (request) => createHmac("sha256", "of the cluster").update(request).digest("hex"),
  };
}
