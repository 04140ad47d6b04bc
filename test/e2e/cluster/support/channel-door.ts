/** The door of a `node-main.ts`: questions over the channel between parent and child. */
import type { ClusterStatus } from "../../../../src/server/cluster/index.ts";
import type { CommandResult } from "../../../../src/server/core/state/index.ts";
import type { Contents, Door, Outcome } from "./door.ts";
import type { Running } from "./process.ts";

type Asked =
  | { readonly kind: "write"; readonly register: string; readonly value: number }
  | { readonly kind: "erase"; readonly register: string }
  | { readonly kind: "claim"; readonly name: string; readonly value: number }
  | { readonly kind: "read"; readonly table: "susp/" | "key/"; readonly isConsistent: boolean }
  | { readonly kind: "status" }
  | { readonly kind: "remove"; readonly id: string }
  | { readonly kind: "prune"; readonly keep: readonly string[] }
  | { readonly kind: "transfer"; readonly to: string | undefined }
  | { readonly kind: "save"; readonly stale: boolean }
  | { readonly kind: "restore"; readonly archive: Uint8Array };

export type Question = Asked & { readonly id: number; readonly timeoutMs: number };

export type Reply = { readonly id: number } & (
  | { readonly kind: "value"; readonly value: unknown }
  | { readonly kind: "error"; readonly code: string; readonly message: string; readonly isUnknown: boolean }
);

/** Over what the child was given, so that its own answer comes first. */
const GRACE_MS = 500;
const LOOK_MS = 2_000;
const CHANGE_MS = 30_000;

export function channelDoor({ child, ended }: Running): Door {
  const waiting = new Map<number, (outcome: Outcome<unknown>) => void>();
  let lastId = 0;

  child.on("message", (reply: Reply) => {
    const settle = waiting.get(reply.id);
    waiting.delete(reply.id);
    if (reply.kind === "value") settle?.({ kind: "done", value: reply.value });
    else settle?.({ kind: reply.isUnknown ? "unknown" : "failed", code: reply.code, message: reply.message });
  });
  void ended.then(() => {
    for (const settle of waiting.values()) settle({ kind: "unknown", code: "ended", message: "the process ended" });
    waiting.clear();
  });

  function ask(asked: Asked, limitMs: number): Promise<Outcome<unknown>> {
    if (!child.connected) return Promise.resolve({ kind: "failed", code: "ended", message: "the process has ended" });
    lastId += 1;
    const id = lastId;
    return new Promise((resolve) => {
      const settle = (outcome: Outcome<unknown>): void => {
        clearTimeout(limit);
        resolve(outcome);
      };
      const limit = setTimeout(() => {
        waiting.delete(id);
        resolve({ kind: "unknown", code: "timeout", message: "no answer in time" });
      }, limitMs + GRACE_MS);
      waiting.set(id, settle);
      child.send({ ...asked, id, timeoutMs: limitMs }, (error) => {
        if (error !== null && waiting.delete(id)) settle({ kind: "unknown", code: "ended", message: error.message });
      });
    });
  }

  async function command(asked: Asked, limitMs: number): Promise<Outcome<CommandResult>> {
    return (await ask(asked, limitMs)) as Outcome<CommandResult>;
  }

  async function must<Value>(asking: Promise<Outcome<unknown>>): Promise<Value> {
    const outcome = await asking;
    if (outcome.kind !== "done") throw new Error(`${outcome.code}: ${outcome.message}`);
    return outcome.value as Value;
  }

  async function plain(asking: Promise<Outcome<unknown>>): Promise<Outcome<undefined>> {
    const outcome = await asking;
    return outcome.kind === "done" ? { kind: "done", value: undefined } : outcome;
  }

  const read = (table: "susp/" | "key/", isConsistent: boolean, limitMs: number) =>
    ask({ kind: "read", table, isConsistent }, limitMs) as Promise<Outcome<Contents>>;

  return {
    async write(register, value, limitMs) {
      return plain(command({ kind: "write", register, value }, limitMs));
    },
    async claim(name, value, limitMs) {
      const outcome = await command({ kind: "claim", name, value }, limitMs);
      return outcome.kind === "done" ? { kind: "done", value: outcome.value.kind === "ok" } : outcome;
    },
    erase: (register, limitMs) => plain(ask({ kind: "erase", register }, limitMs)),
    registers: (limitMs) => read("susp/", true, limitMs),
    claims: (limitMs) => read("key/", true, limitMs),
    localRegisters: () => must(read("susp/", false, LOOK_MS)),
    localClaims: () => must(read("key/", false, LOOK_MS)),
    async status() {
      const { role, leaderId, term, applied, members } = await must<ClusterStatus>(ask({ kind: "status" }, LOOK_MS));
      return { role, leader: leaderId, term, applied, members: members.map(({ id, voter }) => ({ id, voter })) };
    },
    remove: (id) => plain(ask({ kind: "remove", id }, CHANGE_MS)),
    prune: (keep) => plain(ask({ kind: "prune", keep }, CHANGE_MS)),
    transfer: (to) => ask({ kind: "transfer", to }, CHANGE_MS) as Promise<Outcome<string>>,
    save: (stale) => must(ask({ kind: "save", stale }, CHANGE_MS)),
    restore: (archive) => plain(ask({ kind: "restore", archive }, CHANGE_MS)),
    close() {},
  };
}
