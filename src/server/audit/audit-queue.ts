/** Size of the audit queue: number of waiting bytes, counted by every thread of the node process that takes records. */

export const MAX_QUEUE_BYTES = 64 << 20;

/**
 * Bytes that a record needs in addition to its event's text: names, hashes, signature, proof, and the queue entry
 * itself.
 */
export const RECORD_OVERHEAD_BYTES = 1_000;

export interface AuditQueue {
  /** Memory to share with another thread. */
  readonly memory: SharedArrayBuffer;
  readonly bytes: number;
  /** Reserves space. Returns false if there is too little, or the trail has ended. */
  reserve(bytes: number): boolean;
  /** Adds bytes without a check, for a record that replaces a reservation. */
  add(bytes: number): void;
  release(bytes: number): void;
  /** Refuses all further reservations. */
  close(): void;
}

const BYTES = 0;
const IS_CLOSED = 1;

export function openQueue(memory = new SharedArrayBuffer(8)): AuditQueue {
  const cells = new Int32Array(memory);
  return {
    memory,
    get bytes() {
      return Atomics.load(cells, BYTES);
    },
    reserve(bytes) {
      if (Atomics.load(cells, IS_CLOSED) !== 0) return false;
      if (Atomics.add(cells, BYTES, bytes) + bytes <= MAX_QUEUE_BYTES) return true;
      Atomics.sub(cells, BYTES, bytes);
      return false;
    },
    add: (bytes) => void Atomics.add(cells, BYTES, bytes),
    release: (bytes) => void Atomics.sub(cells, BYTES, bytes),
    close: () => void Atomics.store(cells, IS_CLOSED, 1),
  };
}

/** Queue space lent to another process of this node, which creates its records before they arrive here. */
interface AuditCredit {
  /** Lends `bytes` of space. Returns false if there is too little. */
  grant(bytes: number): boolean;
  /** Notes that a record arrived whose space was lent. */
  consume(bytes: number): void;
  /** Releases space that was lent and not used. */
  close(): void;
}

/** Opens the account of the queue space that is lent to one process. */
export function openCredit(queue: AuditQueue): AuditCredit {
  let outstandingBytes = 0;
  return {
    grant(bytes) {
      if (!queue.reserve(bytes)) return false;
      outstandingBytes += bytes;
      return true;
    },
    consume(bytes) {
      outstandingBytes -= bytes;
    },
    close() {
      queue.release(outstandingBytes);
      outstandingBytes = 0;
    },
  };
}
