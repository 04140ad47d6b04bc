/**
 * Finds which of several processes holds the other end of a loopback connection: the system lists each socket with its
 * ports and inode, and each process with its open inodes. Linux only; elsewhere none is found.
 */
import { readdirSync, readFileSync, readlinkSync } from "node:fs";

const canTellDialers = process.platform === "linux";

/** `remotePort` is the port of the dialing end. Returns `undefined` if it belongs to none of them or is closed. */
export function dialerOf(remotePort: number, localPort: number, pids: Iterable<number>): number | undefined {
  if (!canTellDialers) return undefined;
  const inode = inodeOf(remotePort, localPort);
  if (inode === undefined) return undefined;
  const name = `socket:[${inode}]`;
  for (const pid of pids) if (holds(pid, name)) return pid;
  return undefined;
}

function inodeOf(localPort: number, remotePort: number): string | undefined {
  const local = `:${hex(localPort)}`;
  const remote = `:${hex(remotePort)}`;
  for (const line of readFileSync("/proc/net/tcp", "utf8").split("\n")) {
    const fields = line.trim().split(/\s+/);
    if (fields[1]?.endsWith(local) && fields[2]?.endsWith(remote)) return fields[9];
  }
  return undefined;
}

const hex = (port: number): string => port.toString(16).toUpperCase().padStart(4, "0");

function holds(pid: number, name: string): boolean {
  const folder = `/proc/${pid}/fd`;
  try {
    return readdirSync(folder).some((fd) => {
      try {
        return readlinkSync(`${folder}/${fd}`) === name;
      } catch {
        return false;
      }
    });
  } catch {
    return false;
  }
}
