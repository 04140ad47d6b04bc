/**
 * Reports to the service manager that started the process: ready, reloading, stopping, a status line, and keep-alives for
 * its watchdog. Source: sd_notify(3), sd_watchdog_enabled(3). A manager that cannot be reached is logged once and changes
 * nothing else.
 */

import type { Log } from "../base/index.ts";
import { openNotifySocket, type SendDatagram } from "./notify-socket.ts";

export interface ServiceManager {
  /** Reports that the process serves. Starts the keep-alives and the status line. */
  notifyReady(watched: WatchedProcess): void;
  /** Reports a reload while it runs. Rejects with the error of `reload`. */
  notifyReload(reload: () => Promise<void>): Promise<void>;
  notifyStopping(): void;
  close(): void;
}

/** State that is reported while the process serves. */
export interface WatchedProcess {
  /** Status line, at most a few words. */
  status(): string;
  /** Resolves if the parts of the process that the event loop does not show are alive. */
  alive(signal: AbortSignal): Promise<void>;
}

const NONE: ServiceManager = {
  notifyReady: () => undefined,
  notifyReload: (reload) => reload(),
  notifyStopping: () => undefined,
  close: () => undefined,
};

type Env = Readonly<Record<string, string | undefined>>;

/** Interval at which a changed status line is sent, in milliseconds. */
const STATUS_EVERY_MS = 5_000;
const UNRESPONSIVE =
  "a part of this process does not respond, so the service manager gets no watchdog signal and may restart it";
/** Longest status line, in characters. */
const MAX_STATUS = 200;

/** Opens the way to the manager of `NOTIFY_SOCKET`, if there is one. Never rejects. */
export async function openServiceManager(env: Env, log: Log): Promise<ServiceManager> {
  const name = env["NOTIFY_SOCKET"];
  if (name === undefined || name === "" || process.platform !== "linux") return NONE;
  try {
    return createServiceManager(await openNotifySocket(name), keepAliveIntervalMs(env), log);
  } catch (error) {
    log.warn("the service manager cannot be notified, so it may stop this process", { error });
    return NONE;
  }
}

export function createServiceManager(
  datagram: SendDatagram,
  keepAliveMs: number | undefined,
  log: Pick<Log, "warn">,
): ServiceManager {
  let isFailing = false;
  let isReady = false;
  let isStopping = false;
  let lastStatus = "";
  let timer: NodeJS.Timeout | undefined;
  const ended = new AbortController();

  const send = (...lines: readonly string[]): void => {
    const errno = datagram(`${lines.join("\n")}\n`);
    if (errno !== undefined && !isFailing) {
      log.warn("the service manager did not accept a notification", { report: lines[0], errno });
    }
    isFailing = errno !== undefined;
  };

  const showStatus = (text: string): void => {
    const line = text.replace(/[\u0000-\u001f\u007f]+/g, " ").slice(0, MAX_STATUS);
    if (line === lastStatus) return;
    lastStatus = line;
    send(`STATUS=${line}`);
  };

  /** Sends a sign of life, unless a checked part of the process gives none. */
  const sendKeepAlive = async ({ alive }: WatchedProcess, limitMs: number): Promise<void> => {
    const warning = setTimeout(() => log.warn(UNRESPONSIVE, { waited_ms: limitMs }), limitMs).unref();
    try {
      // Not checked while the process stops, because its parts close one after another.
      if (!isStopping) await alive(ended.signal);
      if (!ended.signal.aborted) send("WATCHDOG=1");
    } catch (error) {
      if (!isStopping && !ended.signal.aborted) log.warn(UNRESPONSIVE, { error });
    } finally {
      clearTimeout(warning);
    }
  };

  const scheduleReport = (watched: WatchedProcess): void => {
    const report = async (): Promise<void> => {
      if (keepAliveMs !== undefined) await sendKeepAlive(watched, keepAliveMs);
      if (ended.signal.aborted) return;
      if (!isStopping) showStatus(watched.status());
      scheduleReport(watched);
    };
    timer = setTimeout(() => void report(), Math.min(keepAliveMs ?? STATUS_EVERY_MS, STATUS_EVERY_MS)).unref();
  };

  return {
    notifyReady(watched) {
      isReady = true;
      send("READY=1");
      showStatus(watched.status());
      scheduleReport(watched);
    },
    async notifyReload(reload) {
      // Before the first READY=1, a reload is part of the start and is not reported.
      if (!isReady) return await reload();
      send("RELOADING=1", `MONOTONIC_USEC=${process.hrtime.bigint() / 1_000n}`);
      try {
        await reload();
      } finally {
        if (!ended.signal.aborted) send("READY=1");
      }
    },
    notifyStopping() {
      isStopping = true;
      send("STOPPING=1");
      showStatus("Stopping: waiting for requests in flight");
    },
    close() {
      ended.abort();
      clearTimeout(timer);
    },
  };
}

/**
 * Returns the interval of keep-alives in milliseconds: half of the manager's timeout, as its manual advises;
 * `undefined` if it does not watch this process.
 */
export function keepAliveIntervalMs(env: Env): number | undefined {
  const limit = Number(env["WATCHDOG_USEC"]) / 1_000;
  const pid = env["WATCHDOG_PID"];
  if (!(limit >= 2) || (pid !== undefined && pid !== String(process.pid))) return undefined;
  return limit / 2;
}
