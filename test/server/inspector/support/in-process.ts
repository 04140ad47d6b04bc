/** A service in a process of its own, which prints its port and ends with its stdin. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";

interface Served {
  readonly port: number;
  /** Peak resident memory in bytes. */
  readonly peakBytes: () => number;
  readonly stop: () => Promise<void>;
}

/** `program` has the arguments for Node, as returned by `childArgs`. */
export async function serveApart(program: readonly string[], args: readonly string[] = []): Promise<Served> {
  const child = spawn(process.execPath, [...program, ...args], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const [line] = (await once(child.stdout, "data")) as [Buffer];
  return {
    port: Number(String(line).trim()),
    peakBytes() {
      const [, kilobytes] = /VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${child.pid}/status`, "utf8")) ?? [];
      assert.ok(kilobytes !== undefined);
      return Number(kilobytes) * 1_024;
    },
    async stop() {
      const ended = once(child, "exit");
      child.stdin.end();
      await ended;
    },
  };
}
