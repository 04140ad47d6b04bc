/** The audit queue as a number: bytes that wait, counted by each thread of the node process that takes records. */

export const MAX_QUEUE_BYTES = 64 << 20;

/** Bytes by which a record is longer than its event's text: names, hashes, signature, proof, and the queue entry itself. */
export const RECORD_OVERHEAD_BYTES = 1_000;

export interface AuditQueue {
  /** Memory to share with another thread. */
  readonly memory: SharedArrayBuffer;
  readonly bytes: number;
  /** Reserves room. Returns false if there is too little, or the trail has ended. */
  admit(bytes: number): boolean;
  /** Takes room that was admitted as another record's. */
  take(bytes: number): void;
  release(bytes: number): void;
  /** Admits nothing more. */
  end(): void;
}

const BYTES = 0;
const IS_OVER = 1;

export function openQueue(memory = new SharedArrayBuffer(8)): AuditQueue {
  const cells = new Int32Array(memory);
  return {
    memory,
    get bytes() {
      return Atomics.load(cells, BYTES);
    },
    admit(bytes) {
      if (Atomics.load(cells, IS_OVER) !== 0) return false;
      if (Atomics.add(cells, BYTES, bytes) + bytes <= MAX_QUEUE_BYTES) return true;
      Atomics.sub(cells, BYTES, bytes);
      return false;
    },
    take: (bytes) => void Atomics.add(cells, BYTES, bytes),
    release: (bytes) => void Atomics.sub(cells, BYTES, bytes),
    end: () => void Atomics.store(cells, IS_OVER, 1),
  };
}

/** Room that is lent to another process of this node, which makes its records before they come here. */
export interface AuditCredit {
  /** Reserves `bytes` of room. Returns false if there is too little. */
  lend(bytes: number): boolean;
  /** A record came whose room was lent. */
  used(bytes: number): void;
  /** Releases room that was reserved and not used. */
  close(): void;
}

export function openCredit(queue: AuditQueue): AuditCredit {
  let lent = 0;
  return {
    lend(bytes) {
      if (!queue.admit(bytes)) return false;
      lent += bytes;
      return true;
    },
    used(bytes) {
      lent -= bytes;
    },
    close() {
      queue.release(lent);
      lent = 0;
    },
  };
}
