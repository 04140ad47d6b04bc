/**
 * Pool of threads that examine blocks. The first blocks are examined on the reading thread, since a small trail is
 * verified before a thread has started.
 */

import { openThread, type Thread as WorkerThread } from "../../../base/index.ts";
import { THREAD_OPTIONS } from "../audit-worker-protocol.ts";
import {
  checkSignature,
  createVerificationKeys,
  type ExaminedLine,
  type ExaminedRecord,
  examineBlock,
  type SignedRecord,
} from "./examine-block.ts";
import type { Block } from "./input-blocks.ts";

/** Number of blocks of 256 KiB that are examined without threads; they take about a tenth of a second. */
const BLOCKS_WITHOUT_THREADS = 4;

export type Task =
  | { readonly kind: "block"; readonly bytes: Uint8Array; readonly firstLine: number }
  | { readonly kind: "signatures"; readonly signed: readonly SignedRecord[] };

export interface ToExaminer {
  /** Keys that the thread does not have yet. */
  readonly keys: readonly (readonly [kid: string, raw: Uint8Array])[];
  readonly task: Task;
}

export type FromExaminer =
  | { readonly kind: "block"; readonly lines: readonly ExaminedLine[] }
  | { readonly kind: "signatures"; readonly results: readonly ExaminedRecord["signature"][] };

interface ExaminerPool {
  /** Maximum number of concurrent tasks. */
  readonly width: number;
  addKey(kid: string, raw: Uint8Array): void;
  examine(block: Block): Promise<readonly ExaminedLine[]>;
  check(signed: readonly SignedRecord[]): Promise<readonly ExaminedRecord["signature"][]>;
  close(): Promise<void>;
}

const MODULE = {
  source: new URL("./worker.ts", import.meta.url),
  built: new URL("./server/audit/verify/worker.js", import.meta.url),
};

interface Thread {
  readonly worker: WorkerThread<ToExaminer>;
  readonly waiting: { readonly resolve: (answer: FromExaminer) => void; readonly reject: (error: unknown) => void }[];
  keysSent: number;
}

export function createExaminerPool(threadCount: number): ExaminerPool {
  const localKeys = createVerificationKeys();
  const keys: (readonly [string, Uint8Array])[] = [];
  let threads: Thread[] = [];
  let blocks = 0;

  function start(): Thread {
    const waiting: Thread["waiting"] = [];
    const worker = openThread<ToExaminer, FromExaminer>(MODULE, THREAD_OPTIONS, {
      onMessage: (answer) => waiting.shift()?.resolve(answer),
      onEnd(error = new Error("a thread of the verification ended")) {
        for (const { reject } of waiting.splice(0)) reject(error);
      },
    });
    return { worker, waiting, keysSent: 0 };
  }

  function ask(task: Task): Promise<FromExaminer> {
    const thread = threads.reduce((a, b) => (b.waiting.length < a.waiting.length ? b : a));
    return new Promise((resolve, reject) => {
      thread.waiting.push({ resolve, reject });
      const message: ToExaminer = { keys: keys.slice(thread.keysSent), task };
      thread.keysSent = keys.length;
      thread.worker.post(message);
    });
  }

  return {
    width: Math.max(1, 2 * threadCount),
    addKey(kid, raw) {
      keys.push([kid, raw]);
      localKeys.add(kid, raw);
    },
    async examine(block) {
      blocks += 1;
      if (blocks > BLOCKS_WITHOUT_THREADS && threads.length < threadCount) {
        threads = Array.from({ length: threadCount }, start);
      }
      if (threads.length === 0) return examineBlock(block, localKeys);
      const { bytes, firstLine } = block;
      const answer = await ask({ kind: "block", bytes, firstLine });
      return answer.kind === "block" ? answer.lines : [];
    },
    async check(signed) {
      if (threads.length === 0) return signed.map((each) => checkSignature(each, localKeys));
      const answer = await ask({ kind: "signatures", signed });
      return answer.kind === "signatures" ? answer.results : [];
    },
    async close() {
      await Promise.all(threads.map(({ worker }) => worker.terminate()));
    },
  };
}
