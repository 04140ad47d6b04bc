/**
 * Drives the state machine on the leader: reads the rows, runs the next effect, writes the result, and repeats. If it stops
 * between two steps, the next leader continues from the rows.
 */

import { setTimeout as sleep } from "node:timers/promises";
import { anySignal } from "../../../base/index.ts";
import { AttemptFailed } from "./attempt-failed.ts";
import { type Account, accountId, type CertificateRecord, recordId } from "./certificate-record.ts";
import {
  type Effect,
  type EffectResult,
  nextEffect,
  nextState,
  type OrderRows,
  type WantedCertificate,
} from "./order-machine.ts";
import { type PerformPorts, performEffect } from "./perform-effect.ts";
import type { CertificateStore, OpenedRow } from "./ports.ts";
import { DAY_MS } from "./renewal-time.ts";

interface ManagerOptions {
  readonly store: CertificateStore;
  readonly ports: PerformPorts;
  readonly wanted: WantedCertificate;
  /**
   * Work starts when it resolves, or after a minute at the latest, since another node may answer challenges. `undefined` starts
   * it at once.
   */
  readonly ready: Promise<unknown> | undefined;
  /** Called after each effect. */
  readonly onStep: (effect: Effect, answer: EffectResult, world: OrderRows) => void;
  /** Called when something prevents all work, such as rows that cannot be opened here. */
  readonly onProblem: (message: string, error: unknown) => void;
}

interface Manager {
  close(): Promise<void>;
}

/** Longest wait before the time is checked again: a clock may be set, and timers drift while the machine sleeps. */
const MAX_WAIT_MS = 10 * 60_000;
const PAUSE_MS = 1_000;
const READY_TIMEOUT_MS = 60_000;
const SEALED_PAUSE_MS = 60_000;
const WRITE_ATTEMPTS = 5;
/**
 * Time to keep an earlier account. Somebody who reverts to the earlier settings within this time gets the earlier account back,
 * which an authority with account binding may not issue twice.
 */
const UNUSED_ACCOUNT_RETENTION_MS = 30 * DAY_MS;

export function startManager({ store, ports, wanted, ready, onStep, onProblem }: ManagerOptions): Manager {
  const stop = new AbortController();
  let wake: () => void = () => undefined;
  /** Whether rows or leadership changed since the rows were last read. If so, `pause` returns at once. */
  let isChanged = false;
  let leading: AbortController | undefined;
  const unwatch = store.onChange(() => {
    if (!store.isLeader()) leading?.abort(new Error("this node no longer leads"));
    isChanged = true;
    wake();
  });
  const ids = { account: accountId(wanted.ca, wanted.email), record: recordId(wanted.ca, wanted.names) };

  /** Waits until rows or leadership change, or the time has come. */
  async function pause(ms: number, signal: AbortSignal): Promise<void> {
    if (isChanged) return;
    const woken = new AbortController();
    wake = () => woken.abort();
    const wait = Math.min(Math.max(ms, 0), MAX_WAIT_MS);
    await sleep(wait, undefined, { signal: anySignal([signal, woken.signal]) }).catch(() => undefined);
    wake = () => undefined;
  }

  /** Waits until challenges can be answered. An unanswered challenge costs an attempt and the pause after it. */
  async function waitUntilReady(): Promise<void> {
    if (ready === undefined) return;
    const late = new AbortController();
    const limit = sleep(READY_TIMEOUT_MS, undefined, { signal: anySignal([stop.signal, late.signal]) });
    await Promise.race([ready, limit.catch(() => undefined)]);
    late.abort();
  }

  async function run(): Promise<void> {
    await waitUntilReady();
    while (!stop.signal.aborted) {
      isChanged = false;
      if (!store.isLeader()) {
        await pause(MAX_WAIT_MS, stop.signal);
        continue;
      }
      leading = new AbortController();
      const signal = anySignal([stop.signal, leading.signal]);
      try {
        await store.whenCaughtUp(signal);
        await runAsLeader(signal);
      } catch (error) {
        if (!signal.aborted) onProblem("the certificate cannot be renewed; this will be retried", error);
        await sleep(PAUSE_MS, undefined, { signal: stop.signal }).catch(() => undefined);
      }
    }
  }

  async function runAsLeader(signal: AbortSignal): Promise<never> {
    for (;;) {
      signal.throwIfAborted();
      isChanged = false;
      const rows = { account: store.read("account", ids.account), record: store.read("certificate", ids.record) };
      const sealed = [rows.account, rows.record].find((it) => it.kind === "sealed");
      if (sealed?.kind === "sealed") {
        onProblem(sealed.message, undefined);
        await pause(SEALED_PAUSE_MS, signal);
        continue;
      }
      const world: OrderRows = {
        account: parseRow<Account>(rows.account),
        record: parseRow<CertificateRecord>(rows.record),
      };
      const effect = nextEffect(world, wanted, ports.now());
      if (effect.do === "wait") {
        await prune(world, signal);
        await pause(effect.until - ports.now(), signal);
        continue;
      }
      const answer = await performEffect(effect, world.record?.issued ?? null, world.account, ports, signal).catch(
        (error: unknown) => failureAnswer(error, signal),
      );
      const next = nextState(world, effect, answer, wanted, ports.now());
      if (await storeChanges(world, next, rows, signal)) onStep(effect, answer, next);
    }
  }

  /** Stores the changed rows. Returns false if another node has written them. */
  async function storeChanges(
    { account, record }: OrderRows,
    next: OrderRows,
    rows: { readonly account: OpenedRow; readonly record: OpenedRow },
    signal: AbortSignal,
  ): Promise<boolean> {
    if (next.account !== undefined && next.account !== account) {
      const row = { table: "account", id: ids.account, names: [], notAfter: null } as const;
      if (
        !(await writeWithRetries(
          { ...row, expect: versionOf(rows.account), value: JSON.stringify(next.account) },
          signal,
        ))
      ) {
        return false;
      }
    }
    if (next.record === undefined || next.record === record) return true;
    const { names, issued } = next.record;
    const row = { table: "certificate", id: ids.record, names, notAfter: issued?.notAfter ?? null } as const;
    return await writeWithRetries(
      { ...row, expect: versionOf(rows.record), value: JSON.stringify(next.record) },
      signal,
    );
  }

  /** Writes a row with retries, so that a short loss of quorum does not lose the result of an effect. */
  async function writeWithRetries(
    row: Parameters<CertificateStore["write"]>[0],
    signal: AbortSignal,
  ): Promise<boolean> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return (await store.write(row, signal)) === "stored";
      } catch (error) {
        if (signal.aborted || attempt >= WRITE_ATTEMPTS) throw error;
        await sleep(PAUSE_MS, undefined, { signal });
      }
    }
  }

  /** Removes certificates of other sets of names once nobody can serve them any more, and unused accounts. */
  async function prune({ account, record }: OrderRows, signal: AbortSignal): Promise<void> {
    if (record?.issued == null) return;
    const now = ports.now();
    for (const { id, version, notAfter } of store.certificates()) {
      if (id !== ids.record && (notAfter === null || notAfter <= now)) {
        await store.remove("certificate", id, version, signal);
      }
    }
    if (record.issued.account !== account?.thumbprint) return;
    const accounts = store.accounts();
    const since = accounts.find(({ id }) => id === ids.account)?.at ?? now;
    if (now - since < UNUSED_ACCOUNT_RETENTION_MS) return;
    for (const { id, version } of accounts) {
      if (id !== ids.account) await store.remove("account", id, version, signal);
    }
  }

  const running = run();
  return {
    async close() {
      stop.abort();
      wake();
      unwatch();
      await running;
    },
  };
}

const versionOf = (held: OpenedRow): number | null => (held.kind === "none" ? null : held.version);

/** Parses a row without checks: only the gateway writes sealed rows, and a changed row does not open. */
function parseRow<T>(held: OpenedRow): T | undefined {
  return held.kind === "row" ? (JSON.parse(held.value) as T) : undefined;
}

function failureAnswer(error: unknown, signal: AbortSignal): EffectResult {
  signal.throwIfAborted();
  if (!(error instanceof AttemptFailed)) throw error;
  const { reason, message, keepsOrder, losesAccount, retryAt } = error;
  return { kind: "failed", reason, message, keepsOrder, losesAccount, retryAt };
}
