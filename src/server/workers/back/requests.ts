/** Reports refusals, finished requests, usage and used keys of workers to the node. */
import type { Refusal, Refusals, RequestSummary, SummarySink, UsageLedger } from "../../dataplane/index.ts";
import type { Channel } from "../channel/index.ts";
import { createKeyedBatch } from "./keyed-batch.ts";

/** Maximum number of refusals by caller, code and cause that are gathered between two messages. */
const MAX_REFUSED = 500;
/** Maximum number of finished requests that are kept, equal to the number that the node lists. */
const MAX_FINISHED = 2_000;
const CHECK_MS = 250;
/** Maximum number of new rows since the last check for which they are reported at the next check; more wait `MAX_DELAY_MS`. */
const MAX_PROMPT_ROWS = 500;
const MAX_DELAY_MS = 2_000;
/** Maximum number of rows in one message, so that requests are served between two messages. */
const ROWS_PER_MESSAGE = 100;
/** Maximum number of sums of usage that are gathered between two messages. */
const MAX_USAGE_ENTRIES = 1_000;
/** Maximum number of used keys that are gathered between two messages. */
const MAX_USED_KEYS = 1_000;

interface RefusalCount {
  readonly refusal: Refusal;
  count: number;
  last: string;
  /** Time of the last refusal, in microseconds of the machine's monotonic clock, which all processes share. */
  at: number;
}

/** Returns a write-only view of the refusals, which sends them to the node. */
export function sendRefusals(channel: Channel): Pick<Refusals, "refused"> {
  const gathered = createKeyedBatch<RefusalCount>(channel, "refusals", MAX_REFUSED);
  return {
    refused(refusal) {
      const { caller, code, by, requestId } = refusal;
      const key = `${code}\0${by?.kind}\0${by?.name}\0${by?.key}\0${by?.keyId}\0${by?.bucket}\0${caller?.kind}\0${caller?.principal}`;
      const refused = gathered.getOrCreate(key, () => ({
        refusal: withoutKeyMetadata(refusal),
        count: 0,
        last: "",
        at: 0,
      }));
      refused.count += 1;
      refused.last = requestId;
      refused.at = Number(process.hrtime.bigint() / 1_000n);
    },
  };
}

/** Returns the refusal without a key's metadata, which the node does not need. */
const withoutKeyMetadata = ({ caller, ...others }: Refusal): Refusal => ({
  ...others,
  caller: caller?.key === undefined ? caller : { ...caller, key: { ...caller.key, metadata: {} } },
});

export function takeRefusals(channel: Channel, refusals: Pick<Refusals, "refused">): void {
  channel.on("refusals", (body) => {
    for (const { refusal, count, last, at } of body as readonly RefusalCount[]) {
      for (let left = count; left > 0; left -= 1) refusals.refused({ ...refusal, requestId: last, at });
    }
  });
}

/**
 * Returns a sink that reports a few rows after a short delay. Under load most rows are never read, so the last ones are kept for
 * `catchUp` and sent every two seconds.
 */
export function sendFinished(channel: Channel): SummarySink {
  let rows: RequestSummary[] = [];
  let rowsSinceCheck = 0;
  let sentAt = Number.NEGATIVE_INFINITY;
  let isCheckScheduled = false;
  let sending: NodeJS.Immediate | undefined;

  const sendSome = (): void => {
    channel.send("finished", rows.slice(0, ROWS_PER_MESSAGE));
    rows = rows.slice(ROWS_PER_MESSAGE);
  };
  const sendInTurns = (): void => {
    sending = undefined;
    if (rows.length === 0) return;
    sendSome();
    sending = setImmediate(sendInTurns);
  };
  const scheduleCheck = (): void => {
    if (isCheckScheduled) return;
    isCheckScheduled = true;
    setTimeout(check, CHECK_MS).unref();
  };
  const check = (): void => {
    isCheckScheduled = false;
    const now = performance.now();
    const isDue = rowsSinceCheck <= MAX_PROMPT_ROWS || now - sentAt >= MAX_DELAY_MS;
    rowsSinceCheck = 0;
    if (rows.length > MAX_FINISHED) rows = rows.slice(-MAX_FINISHED);
    if (isDue) {
      sentAt = now;
      sending ??= setImmediate(sendInTurns);
    } else scheduleCheck();
  };
  channel.on("flush", () => {
    clearImmediate(sending);
    sending = undefined;
    rows = rows.slice(-MAX_FINISHED);
    while (rows.length > 0) sendSome();
  });
  return {
    finished(request) {
      rows.push(request);
      rowsSinceCheck += 1;
      if (rows.length >= 2 * MAX_FINISHED) rows = rows.slice(-MAX_FINISHED);
      scheduleCheck();
    },
  };
}

export function takeFinished(channel: Channel, sink: SummarySink): void {
  channel.on("finished", (rows) => {
    for (const row of rows as readonly RequestSummary[]) sink.finished(row);
  });
}

type UsageEntry = Parameters<UsageLedger["add"]>[0];
type Tokens = NonNullable<UsageEntry["tokens"]>;
type MutableUsageEntry = { -readonly [Key in keyof UsageEntry]: UsageEntry[Key] };

/** Returns a usage ledger that sends sums by caller and resource. */
export function sendUsage(channel: Channel): UsageLedger {
  const gathered = createKeyedBatch<MutableUsageEntry>(channel, "use", MAX_USAGE_ENTRIES);
  return {
    add(use) {
      const { hop, kind, caller, profile, provider, model } = use;
      // An issuer may put any text into a caller's name, so the length separates it from the rest.
      const callerKey = `${caller.length}\0${caller}\0${profile}`;
      const key = `${hop}\0${kind}\0${use.tokens === undefined}\0${provider}\0${callerKey}\0${model}`;
      const sum = gathered.getOrCreate(key, () => ({ ...NO_USAGE, hop, kind, caller, profile, provider, model }));
      sum.requests += use.requests;
      sum.failed += use.failed;
      sum.unmeasured += use.unmeasured;
      sum.units += use.units;
      if (use.tokens === undefined) return;
      sum.answers = (sum.answers ?? 0) + (use.answers ?? 1);
      sum.tokens = sumOf(sum.tokens, use.tokens);
    },
  };
}

const NO_USAGE = { requests: 0, failed: 0, unmeasured: 0, units: 0, tokens: undefined };

/** Adds token counts. Cache tokens count as part of the input, whether the provider includes them or not. */
function sumOf(sum: Tokens | undefined, added: Tokens): Tokens {
  const { cachedInputTokens: cached, cacheCreationInputTokens: created } = added;
  const input = Math.max(added.inputTokens, cached + created);
  return {
    inputTokens: (sum?.inputTokens ?? 0) + input,
    cachedInputTokens: (sum?.cachedInputTokens ?? 0) + cached,
    cacheCreationInputTokens: (sum?.cacheCreationInputTokens ?? 0) + created,
    outputTokens: (sum?.outputTokens ?? 0) + added.outputTokens,
    reasoningTokens: (sum?.reasoningTokens ?? 0) + added.reasoningTokens,
  };
}

export function takeUsage(channel: Channel, ledger: UsageLedger): void {
  channel.on("use", (uses) => {
    for (const use of uses as readonly UsageEntry[]) ledger.add(use);
  });
}

interface UsedKey {
  readonly id: string;
  at: number;
}

/** Returns a function that reports a used key with the time of its last use, in milliseconds since 1970. */
export function sendKeyUse(channel: Channel): (id: string, at: number) => void {
  const gathered = createKeyedBatch<UsedKey>(channel, "key_use", MAX_USED_KEYS);
  return (id, at) => {
    const used = gathered.getOrCreate(id, () => ({ id, at }));
    used.at = at;
  };
}

export function takeKeyUse(channel: Channel, onKeyUse: (id: string, at: number) => void): void {
  channel.on("key_use", (body) => {
    for (const { id, at } of body as readonly UsedKey[]) onKeyUse(id, at);
  });
}
