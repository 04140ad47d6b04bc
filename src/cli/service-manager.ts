/**
 * What the process tells the service manager that started it: that it serves, that it stops, and, where a watchdog is set,
 * that its event loop turns. Source: sd_notify(3), sd_watchdog_enabled(3). Node.js has no datagrams of Unix sockets, so they
 * go through the system's own calls.
 */

import type { Log } from "../base/index.ts";

export interface ServiceManager {
  readonly ready: () => void;
  readonly stopping: () => void;
  readonly close: () => void;
}

const NONE: ServiceManager = { ready: () => undefined, stopping: () => undefined, close: () => undefined };

type Env = Readonly<Record<string, string | undefined>>;

/** Of Linux, which alone has systemd. */
const AF_UNIX = 1;
const SOCK_DGRAM_CLOEXEC = 2 | 0o2_000_000;
const MSG_DONTWAIT_NOSIGNAL = 0x40 | 0x4000;
const MAX_PATH_BYTES = 108;

/** Never rejects: a manager that cannot be told gives up on the process by itself, and the log says why. */
export async function openServiceManager(env: Env, log: Log): Promise<ServiceManager> {
  const name = env["NOTIFY_SOCKET"];
  if (name === undefined || name === "" || process.platform !== "linux") return NONE;
  let failures = 0;
  let send: (state: string) => void;
  try {
    const sender = await openSender(name);
    send = (state) => {
      const errno = sender(state);
      if (errno === undefined) return;
      failures += 1;
      if (failures === 1) log.warn("the service manager did not take what it was told", { state, errno });
    };
  } catch (error) {
    log.warn("the service manager cannot be notified", { error });
    return NONE;
  }
  const everyMs = watchdogMs(env);
  let timer: NodeJS.Timeout | undefined;
  return {
    ready() {
      send("READY=1");
      if (everyMs !== undefined) timer = setInterval(() => send("WATCHDOG=1"), everyMs).unref();
    },
    stopping: () => send("STOPPING=1"),
    close: () => clearInterval(timer),
  };
}

/** Half of what the manager waits for, as its manual advises; undefined: it waits for nothing of this process. */
function watchdogMs(env: Env): number | undefined {
  const limit = Number(env["WATCHDOG_USEC"]) / 1_000;
  const pid = env["WATCHDOG_PID"];
  if (!(limit >= 2) || (pid !== undefined && pid !== String(process.pid))) return undefined;
  return limit / 2;
}

/** What it makes answers the number of the system's error. */
async function openSender(name: string): Promise<(state: string) => number | undefined> {
  const koffi = await import("koffi");
  const library = koffi.load(null);
  const socket = library.func("int socket(int domain, int type, int protocol)");
  const sendto = library.func(
    "long sendto(int fd, const void *data, size_t size, int flags, const void *address, uint32_t length)",
  );
  const address = addressOf(name);
  const fd: unknown = socket(AF_UNIX, SOCK_DGRAM_CLOEXEC, 0);
  if (typeof fd !== "number" || fd < 0) throw new Error(`socket failed with errno ${koffi.errno()}`);
  return (state) => {
    const data = Buffer.from(`${state}\n`);
    const sent: unknown = sendto(fd, data, data.byteLength, MSG_DONTWAIT_NOSIGNAL, address, address.byteLength);
    return sent === data.byteLength ? undefined : koffi.errno();
  };
}

/** `struct sockaddr_un`; `@` begins a name that is in no file system. */
function addressOf(name: string): Buffer {
  const path = Buffer.from(name.startsWith("@") ? `\0${name.slice(1)}` : `${name}\0`);
  if (path.byteLength > MAX_PATH_BYTES) throw new Error("NOTIFY_SOCKET is too long for the address of a socket");
  const family = Buffer.alloc(2);
  if (new Uint8Array(new Uint16Array([1]).buffer)[0] === 1) family.writeUInt16LE(AF_UNIX);
  else family.writeUInt16BE(AF_UNIX);
  return Buffer.concat([family, path]);
}
