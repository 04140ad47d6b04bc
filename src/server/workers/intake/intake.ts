/** Manages the intake thread from the node process. */
import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openThread } from "../../../base/index.ts";
import type { AuditTrail } from "../../audit/index.ts";
import type { FromIntake, IntakeAddress, IntakeOptions, RecordSummary } from "./intake-protocol.ts";

/** Maximum length of a socket path, in bytes. Systems allow 104 to 108. */
const MAX_PATH_BYTES = 103;
const CLOSE_LIMIT_MS = 3_000;

const THREAD = {
  source: new URL("./worker.ts", import.meta.url),
  built: new URL("./server/workers/intake/worker.js", import.meta.url),
};

export interface Intake {
  readonly address: IntakeAddress;
  /** Resolves once the trail has all records of workers that have ended. */
  close(): Promise<void>;
}

interface OpenIntakeOptions {
  readonly trail: Pick<AuditTrail, "openFeed">;
  /** Number of workers that share the queue. */
  readonly workers: number;
  /**
   * Directory for the socket, which only this process uses. If it is absent or unusable, a directory within the system's
   * temporary one is used.
   */
  readonly dir: string | undefined;
  onRecord(record: RecordSummary): void;
}

/** Starts the thread. Rejects if no socket can be created. A later failure closes the trail. */
export async function openIntake({ trail, workers, dir, onRecord }: OpenIntakeOptions): Promise<Intake> {
  const feed = trail.openFeed();
  const token = randomBytes(16).toString("hex");
  const { paths, remove } = socketPaths(dir);
  const workerData: IntakeOptions = { paths, token, workers, queue: feed.queue, port: feed.port };
  let isClosing = false;
  let onClosed: () => void = () => undefined;
  const closed = new Promise<void>((resolve) => {
    onClosed = resolve;
  });
  let onPath: (outcome: string | Error) => void = () => undefined;
  const listening = new Promise<string | Error>((resolve) => {
    onPath = resolve;
  });
  const fail = (error: Error): void => {
    onPath(error);
    onClosed();
    if (!isClosing) feed.fail(error);
  };
  const receive = (message: FromIntake): void => {
    switch (message.kind) {
      case "listening":
        onPath(message.path);
        return;
      case "refused":
        onPath(new Error(`no socket for workers can be made: ${message.problems.join("; ")}; set TMPDIR`));
        return;
      case "recorded":
        for (const record of message.records) {
          feed.countRecord(record.event);
          onRecord(record);
        }
        return;
      case "closed":
        onClosed();
        return;
      default:
        message satisfies never;
    }
  };
  const options = { workerData, transferList: [feed.port], argv: [], env: {} };
  const thread = openThread<"close", FromIntake>(THREAD, options, {
    onMessage: receive,
    onEnd: (error = new Error("the intake thread ended unexpectedly")) => fail(error),
  });
  const path = await listening;
  if (path instanceof Error) {
    isClosing = true;
    remove();
    throw path;
  }
  return {
    address: { path, token },
    async close() {
      isClosing = true;
      thread.post("close");
      const limit = setTimeout(onClosed, CLOSE_LIMIT_MS);
      await closed;
      clearTimeout(limit);
      await thread.terminate();
      remove();
    },
  };
}

function socketPaths(dir: string | undefined): { readonly paths: readonly string[]; remove(): void } {
  const socketPath = dir === undefined ? undefined : join(dir, "workers.sock");
  const paths: string[] = [];
  if (socketPath !== undefined && Buffer.byteLength(socketPath) <= MAX_PATH_BYTES) {
    // This removes the socket of a crashed process; the directory is locked against a second process.
    rmSync(socketPath, { force: true });
    paths.push(socketPath);
  }
  let folder: string | undefined;
  try {
    // Only the owner can access this directory.
    folder = mkdtempSync(join(tmpdir(), "gateway-"));
    paths.push(join(folder, "workers.sock"));
  } catch {
    // Without a writable temporary directory, the other path is used.
  }
  return {
    paths,
    remove() {
      if (socketPath !== undefined) rmSync(socketPath, { force: true });
      if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
    },
  };
}
