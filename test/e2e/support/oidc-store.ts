/** State of the identity provider of `oidc.ts`: its own memory would be lost when its keys change. */

interface Payload {
  readonly uid?: string;
  readonly userCode?: string;
  readonly grantId?: string;
  consumed?: number;
}

/** Returns a factory of the adapters that `oidc-provider` needs, one per model, over one map. */
export function memoryStore(): (model: string) => object {
  const payloads = new Map<string, Payload>();
  const firstWith = (model: string, holds: (payload: Payload) => boolean) => {
    for (const [key, payload] of payloads) if (key.startsWith(`${model}:`) && holds(payload)) return payload;
    return undefined;
  };
  return (model) => ({
    upsert: async (id: string, payload: Payload) => void payloads.set(`${model}:${id}`, payload),
    find: async (id: string) => payloads.get(`${model}:${id}`),
    findByUid: async (uid: string) => firstWith(model, (payload) => payload.uid === uid),
    findByUserCode: async (code: string) => firstWith(model, (payload) => payload.userCode === code),
    destroy: async (id: string) => void payloads.delete(`${model}:${id}`),
    async consume(id: string) {
      const payload = payloads.get(`${model}:${id}`);
      if (payload !== undefined) payload.consumed = Math.floor(Date.now() / 1_000);
    },
    async revokeByGrantId(grantId: string) {
      for (const [key, payload] of payloads) if (payload.grantId === grantId) payloads.delete(key);
    },
  });
}
