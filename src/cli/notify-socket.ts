/**
 * Sends datagrams to the socket of a service manager. Source: sd_notify(3), unix(7). Node.js has no Unix datagram sockets, so
 * this calls the system's `socket` and `sendto` through koffi.
 */

/** Sends one message. Returns `undefined`, or the `errno` of the failure. */
export type SendDatagram = (text: string) => number | undefined;

/** Values of Linux, the only system with systemd. */
const AF_UNIX = 1;
const SOCK_DGRAM_CLOEXEC = 2 | 0o2_000_000;
/** `MSG_DONTWAIT | MSG_NOSIGNAL`: a manager that does not read must not stop the process. */
const MSG_DONTWAIT_NOSIGNAL = 0x40 | 0x4000;
/** Size of `sun_path`. */
const MAX_PATH_BYTES = 108;

/** Opens a socket that sends to `name`, a path or an abstract name that begins with `@`. Rejects if koffi or the system cannot. */
export async function openNotifySocket(name: string): Promise<SendDatagram> {
  const koffi = await import("koffi");
  const library = koffi.load(null);
  const socket = library.func("int socket(int domain, int type, int protocol)");
  const sendto = library.func(
    "long sendto(int fd, const void *data, size_t size, int flags, const void *address, uint32_t length)",
  );
  const address = addressOf(name);
  const fd: unknown = socket(AF_UNIX, SOCK_DGRAM_CLOEXEC, 0);
  if (typeof fd !== "number" || fd < 0) throw new Error(`socket failed with errno ${koffi.errno()}`);
  return (text) => {
    const data = Buffer.from(text);
    const sent: unknown = sendto(fd, data, data.byteLength, MSG_DONTWAIT_NOSIGNAL, address, address.byteLength);
    return sent === data.byteLength ? undefined : koffi.errno();
  };
}

/** Returns the `struct sockaddr_un` of a name. Throws if the name is neither a path nor an abstract name, or too long. */
export function addressOf(name: string): Buffer {
  if (!/^[/@]./s.test(name)) throw new Error("NOTIFY_SOCKET is neither an absolute path nor an abstract name");
  // An abstract name ends at the length that is passed to the system, and a path at a null byte.
  const path = Buffer.from(name.startsWith("@") ? `\0${name.slice(1)}` : `${name}\0`);
  if (path.byteLength > MAX_PATH_BYTES) throw new Error(`NOTIFY_SOCKET is longer than ${MAX_PATH_BYTES - 1} bytes`);
  const family = Buffer.alloc(2);
  if (isLittleEndian()) family.writeUInt16LE(AF_UNIX);
  else family.writeUInt16BE(AF_UNIX);
  return Buffer.concat([family, path]);
}

const isLittleEndian = (): boolean => new Uint8Array(new Uint16Array([1]).buffer)[0] === 1;
