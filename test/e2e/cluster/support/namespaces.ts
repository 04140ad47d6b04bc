/**
 * A network namespace for each node, joined by a bridge in one more namespace, so that the machine's own network is
 * unchanged: links can go down and lose packets like real ones. Only if this process may create them.
 */
import { execFileSync } from "node:child_process";
import { atEnd, type Owner } from "../../support/wait.ts";

interface Namespaces {
  addressOf(id: string): string;
  /** Command prefix that runs a program in the node's namespace. */
  prefixOf(id: string): readonly string[];
  /** Sets the node's link down or up. */
  setLink(id: string, state: "up" | "down"): void;
  /** Sets the percentage of lost packets to and from the node, and their delay. Returns false if unsupported. */
  disturb(id: string, loss: number, delayMs: number): boolean;
  clearDelay(id: string): void;
}

/** Returns `undefined` if namespaces are not permitted. */
export function createNamespaces(owner: Owner, ids: readonly string[]): Namespaces | undefined {
  if (process.platform !== "linux") return undefined;
  const hub = `gw${process.pid}`;
  const made: string[] = [];
  const nameOf = (id: string): string => `${hub}-${id}`;
  const addressOf = (id: string): string => `10.213.7.${ids.indexOf(id) + 1}`;
  const remove = (): void => {
    for (const name of made.splice(0)) ip("netns", "del", name);
  };
  const make = (name: string): void => {
    ip("netns", "add", name);
    made.push(name);
    ip("-n", name, "link", "set", "lo", "up");
  };
  try {
    make(hub);
    ip("-n", hub, "link", "add", "switch", "type", "bridge");
    ip("-n", hub, "link", "set", "switch", "up");
    for (const id of ids) {
      const name = nameOf(id);
      make(name);
      ip("-n", hub, "link", "add", id, "type", "veth", "peer", "name", "eth0", "netns", name);
      ip("-n", hub, "link", "set", id, "master", "switch", "up");
      ip("-n", name, "address", "add", `${addressOf(id)}/24`, "dev", "eth0");
      ip("-n", name, "link", "set", "eth0", "up");
    }
  } catch {
    remove();
    return undefined;
  }
  atEnd(owner, remove);
  return {
    addressOf,
    prefixOf: (id) => ["ip", "netns", "exec", nameOf(id)],
    setLink: (id, state) => ip("-n", hub, "link", "set", id, state),
    disturb(id, loss, delayMs) {
      try {
        ip(
          "netns",
          "exec",
          nameOf(id),
          "tc",
          "qdisc",
          "replace",
          "dev",
          "eth0",
          "root",
          "netem",
          ...netem(loss, delayMs),
        );
        return true;
      } catch {
        return false;
      }
    },
    clearDelay: (id) => ip("netns", "exec", nameOf(id), "tc", "qdisc", "del", "dev", "eth0", "root"),
  };
}

const netem = (loss: number, delayMs: number): readonly string[] => ["delay", `${delayMs}ms`, "loss", `${loss}%`];

function ip(...args: readonly string[]): void {
  execFileSync("ip", args, { stdio: "pipe" });
}
