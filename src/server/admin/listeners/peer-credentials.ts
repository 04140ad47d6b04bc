/**
 * Identifies the peer of a Unix socket through the system, for which Node has no API. Sources: unix(7), SO_PEERCRED;
 * getpeereid(3); design decisions, section 10. The system records it when the peer connects, so a peer cannot change it.
 */

import type { Socket } from "node:net";

export interface SocketPeer {
  readonly uid: number;
  readonly gid: number;
  /** Process id; `undefined` if the system does not report it. */
  readonly pid: number | undefined;
}

/** Returns the peer of a socket. Throws if the system reports none, for example because the peer has gone. */
export type PeerCredentials = (socket: Socket) => SocketPeer;

type Koffi = typeof import("koffi");

/** Loads koffi, whose native library lies in dist/native/koffi for each platform that this file supports. */
type LoadKoffi = () => Promise<Koffi>;

const loadKoffi: LoadKoffi = () => import("koffi");

/** Value on x64 and arm64; some other architectures have another one. */
const SOL_SOCKET = 1;
const SO_PEERCRED = 17;
/** User id that the system reports for a socket of another family. */
const NO_USER = 2 ** 32 - 1;
const LINUX_MACHINES: ReadonlySet<string> = new Set(["x64", "arm64"]);

/** Returns the function that identifies peers. Rejects with a message for the operator if the system cannot. */
export async function openPeerCredentials(
  load: LoadKoffi = loadKoffi,
  { platform, arch }: { readonly platform: string; readonly arch: string } = process,
): Promise<PeerCredentials> {
  const open =
    platform === "darwin"
      ? bsdPeerCredentials
      : platform === "linux" && LINUX_MACHINES.has(arch)
        ? linuxPeerCredentials
        : null;
  if (open === null) {
    throw new Error(
      `admin.local_socket: ${platform} on ${arch} cannot identify the peer of a socket; use admin.listen instead`,
    );
  }
  let koffi: Koffi;
  try {
    koffi = await load();
  } catch (cause) {
    throw new Error(
      "admin.local_socket: the library koffi, which asks the system who connects, cannot be loaded for " +
        `${platform}-${arch}; install the program again, or leave the setting out`,
      { cause },
    );
  }
  try {
    return open(koffi);
  } catch (cause) {
    throw new Error("admin.local_socket: this system's C library cannot identify the peer of a socket", {
      cause,
    });
  }
}

/** Identifies peers on Linux, by SO_PEERCRED. The answer is a `struct ucred`: pid, uid and gid of 32 bits each. */
function linuxPeerCredentials(koffi: Koffi): PeerCredentials {
  const getsockopt = koffi
    .load(null)
    .func("int getsockopt(int fd, int level, int name, _Out_ void *value, _Inout_ uint32_t *length)");
  return (socket) => {
    const credentials = new Uint32Array(3);
    const length = [credentials.byteLength];
    const result: unknown = getsockopt(descriptor(socket), SOL_SOCKET, SO_PEERCRED, credentials, length);
    const [pid = 0, uid, gid] = credentials;
    if (result !== 0 || length[0] !== credentials.byteLength || uid === undefined || gid === undefined) {
      throw new Error(`getsockopt failed with errno ${koffi.errno()}`);
    }
    if (uid === NO_USER) throw new Error("the socket has no user");
    return { uid, gid, pid };
  };
}

function bsdPeerCredentials(koffi: Koffi): PeerCredentials {
  const call = koffi.load(null).func("int getpeereid(int fd, _Out_ uint32_t *uid, _Out_ uint32_t *gid)");
  return (socket) => {
    const uid = [0];
    const gid = [0];
    const result: unknown = call(descriptor(socket), uid, gid);
    if (result !== 0) throw new Error(`getpeereid failed with errno ${koffi.errno()}`);
    return { uid: uid[0] ?? Number.NaN, gid: gid[0] ?? Number.NaN, pid: undefined };
  };
}

/** Returns the descriptor, which Node stores in an undocumented field; missing or closed means none. */
function descriptor(socket: Socket): number {
  const handle: unknown = Reflect.get(socket, "_handle");
  const fd: unknown = typeof handle === "object" && handle !== null ? Reflect.get(handle, "fd") : undefined;
  if (typeof fd !== "number" || !Number.isInteger(fd) || fd < 0) throw new Error("the socket has no descriptor");
  return fd;
}
