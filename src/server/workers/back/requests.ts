/** What workers refused and finished, what was used, and which keys were used, told to the node. */
import type { FinishedRequest, FinishedSink, Refusal, Refusals, UsageLedger } from "../../dataplane/index.ts";
import type { Channel } from "../channel/index.ts";
import { gather } from "./gather.ts";

/** Callers by code and cause, until the next message. */
const MAX_REFUSED = 500;
/** Of the last requests of each worker, which are a list of the last of the node. */
const MAX_FINISHED = 500;
/** Whoever reads asks for what was not told; what waits to be read under full load is mostly never told. */
const FINISHED_MS = 250;
/** Keys that were used since the last message. */
const MAX_USED_KEYS = 1_000;

interface Refused {
  readonly refusal: Refusal;
  count: number;
  last: string;
}

/** Only what records; nothing is read here. */
export function sendRefusals(channel: Channel): Pick<Refusals, "refused"> {
  const gathered = gather<Refused>(channel, "refusals", MAX_REFUSED);
  return {
    refused(refusal) {
      const { caller, code, by, requestId } = refusal;
      const key = `${code}\0${by?.kind}\0${by?.name}\0${by?.key}\0${by?.bucket}\0${caller?.kind}\0${caller?.principal}`;
      const refused = gathered.at(key, () => ({ refusal: toldOf(refusal), count: 0, last: "" }));
      refused.count += 1;
      refused.last = requestId;
    },
  };
}

/** Nobody there asks for what a key says beside its name. */
const toldOf = ({ caller, ...others }: Refusal): Refusal => ({
  ...others,
  caller: caller?.key === undefined ? caller : { ...caller, key: { ...caller.key, metadata: {} } },
});

export function takeRefusals(channel: Channel, refusals: Pick<Refusals, "refused">): void {
  channel.on("refusals", (body) => {
    for (const { refusal, count, last } of body as readonly Refused[]) {
      for (let left = count; left > 0; left -= 1)
        refusals.refused({ ...refusal, requestId: left === 1 ? last : refusal.requestId });
    }
  });
}

export function sendFinished(channel: Channel): FinishedSink {
  const gathered = gather<FinishedRequest[]>(channel, "finished", 1, FINISHED_MS);
  return {
    finished(request) {
      const rows = gathered.at("", () => []);
      rows.push(request);
      if (rows.length >= 2 * MAX_FINISHED) rows.splice(0, MAX_FINISHED);
    },
  };
}

export function takeFinished(channel: Channel, sink: FinishedSink): void {
  channel.on("finished", (body) => {
    for (const rows of body as readonly (readonly FinishedRequest[])[])
      for (const row of rows.slice(-MAX_FINISHED)) sink.finished(row);
  });
}

export const sendUse = (channel: Channel): UsageLedger => ({ add: (use) => channel.send("use", use) });

export function takeUse(channel: Channel, ledger: UsageLedger): void {
  channel.on("use", (use) => ledger.add(use as Parameters<UsageLedger["add"]>[0]));
}

interface UsedKey {
  readonly id: string;
  at: number;
}

/** Of a key, and when it was used last, in milliseconds since 1970. */
export function sendKeyUse(channel: Channel): (id: string, at: number) => void {
  const gathered = gather<UsedKey>(channel, "key_use", MAX_USED_KEYS);
  return (id, at) => {
    const used = gathered.at(id, () => ({ id, at }));
    used.at = at;
  };
}

export function takeKeyUse(channel: Channel, used: (id: string, at: number) => void): void {
  channel.on("key_use", (body) => {
    for (const { id, at } of body as readonly UsedKey[]) used(id, at);
  });
}
