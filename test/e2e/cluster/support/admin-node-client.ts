/** Client of a gateway's admin API over the local socket. */
import { type AdminClient, AdminError, createAdminClient, type KeyRecord } from "../../../../src/admin-api/index.ts";
import type { Contents, NodeClient, Outcome } from "./node-client.ts";

const LOOK_MS = 2_000;
const CHANGE_MS = 60_000;
/** A suspension of a model may have any name; other kinds must exist. */
const KIND = "model";

export function createNodeClient(socketPath: string): NodeClient {
  const client = createAdminClient({ address: { kind: "socket", path: socketPath } });

  const suspensions = async (isConsistent: boolean, timeLimitMs: number): Promise<Contents> => {
    const { items } = await client.call("list_suspensions", listing(isConsistent), { timeLimitMs });
    return new Map(items.map(({ name, reason }) => [name, Number(reason)]));
  };
  const keys = async (isConsistent: boolean, timeLimitMs: number): Promise<Contents> => {
    const { items } = await client.call("list_keys", listing(isConsistent), { timeLimitMs });
    return new Map(items.map((key) => [key.name, claimedValue(key)]));
  };

  return {
    write: (name, value, timeLimitMs) =>
      outcomeOf(async () => {
        const input = { params: { kind: KIND, name }, body: { reason: String(value) } } as const;
        await client.call("put_suspension", input, { timeLimitMs });
        return undefined;
      }),
    async claim(name, value, timeLimitMs) {
      const outcome = await outcomeOf(async () => {
        await client.call("create_key", { body: { name, metadata: { value: String(value) } } }, { timeLimitMs });
        return true;
      });
      return outcome.kind === "failed" && outcome.code === "conflict" ? { kind: "done", value: false } : outcome;
    },
    erase: (name, timeLimitMs) =>
      outcomeOf(async () => {
        await client.call("delete_suspension", { params: { kind: KIND, name } }, { timeLimitMs });
        return undefined;
      }),
    registers: (limitMs) => outcomeOf(() => suspensions(true, limitMs)),
    claims: (limitMs) => outcomeOf(() => keys(true, limitMs)),
    localRegisters: () => suspensions(false, LOOK_MS),
    localClaims: () => keys(false, LOOK_MS),
    status: () => statusOf(client),
    async report() {
      const options = { timeLimitMs: LOOK_MS };
      const [status, members] = await Promise.all([
        client.call("get_status", {}, options),
        client.call("list_cluster_members", {}, options),
      ]);
      return JSON.stringify({ ...status, members: members.items });
    },
    remove: (id) =>
      outcomeOf(async () => {
        await client.call("delete_cluster_member", { params: { id } }, { timeLimitMs: CHANGE_MS });
        return undefined;
      }),
    prune: (keep) =>
      outcomeOf(async () => {
        await client.call("prune_cluster", { body: { keep } }, { timeLimitMs: CHANGE_MS });
        return undefined;
      }),
    transfer: (to) =>
      outcomeOf(async () => {
        const body = to === undefined ? {} : { to };
        return (await client.call("transfer_leader", { body }, { timeLimitMs: CHANGE_MS })).leader;
      }),
    async save(stale) {
      const chunks: Uint8Array[] = [];
      for await (const chunk of await client.call("save_snapshot", { query: { stale } })) chunks.push(chunk);
      return Buffer.concat(chunks);
    },
    restore: (archive) =>
      outcomeOf(async () => {
        await client.call("restore_snapshot", { body: once(archive) }, { timeLimitMs: CHANGE_MS });
        return undefined;
      }),
    close: () => client.close(),
  };
}

async function statusOf(client: AdminClient) {
  const options = { timeLimitMs: LOOK_MS };
  const { role, leader, term, applied_index: applied } = await client.call("get_status", {}, options);
  const { items } = await client.call("list_cluster_members", {}, options);
  return { role, leader: leader ?? undefined, term, applied, members: items.map(({ id, voter }) => ({ id, voter })) };
}

const listing = (isConsistent: boolean) => (isConsistent ? { query: { consistent: true } } : {});

const claimedValue = ({ metadata }: KeyRecord): number => Number(new Map(Object.entries(metadata)).get("value"));

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

/** With these codes the request was certainly not sent. */
const NOT_SENT = new Set(["ECONNREFUSED", "ENOENT"]);
/** The answer never came, or itself says that the outcome is unknown. */
const UNANSWERED = new Set(["timeout", "aborted", "unreachable", "unintelligible", "internal"]);

async function outcomeOf<Value>(work: () => Promise<Value>): Promise<Outcome<Value>> {
  try {
    return { kind: "done", value: await work() };
  } catch (error) {
    if (!(error instanceof AdminError)) throw error;
    const { code, message, details, cause } = error;
    const reason = cause instanceof Error && "code" in cause ? String(cause.code) : "";
    const isUnknown = UNANSWERED.has(code) ? !NOT_SENT.has(reason) : isUndecided(details);
    return { kind: isUnknown ? "unknown" : "failed", code, message };
  }
}

function isUndecided(details: unknown): boolean {
  return typeof details === "object" && details !== null && "outcome" in details && details.outcome === "unknown";
}
