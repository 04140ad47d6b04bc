/**
 * Stores 16 bytes of each record's hash by its number, so that a copy can be distinguished from a fork anywhere in the
 * input. Limited over all chains to `MAX_PAGES`; the oldest fingerprints are dropped.
 */

const PAGE_RECORDS = 4_096;
const FINGERPRINT_BYTES = 16;
/** Maximum number of pages: 128 MiB, over eight million records. */
const MAX_PAGES = 2_048;

interface Page {
  readonly bytes: Buffer;
  readonly isSet: Uint8Array;
}

interface FingerprintStore {
  chain(): Fingerprints;
}

type HashComparison = "same" | "other" | "unknown" | "given up";

export interface Fingerprints {
  /** Returns whether the record with this number has this hash. */
  compare(seq: number, hash: string): HashComparison;
  put(seq: number, hash: string): void;
}

export function createFingerprints(maxPages = MAX_PAGES): FingerprintStore {
  /** Callbacks in order of creation; each drops one page. */
  const drops: (() => void)[] = [];

  function chain(): Fingerprints {
    const pages = new Map<number, Page>();
    const givenUp = new Set<number>();

    function pageOf(number: number): Page {
      const known = pages.get(number);
      if (known !== undefined) return known;
      const page = { bytes: Buffer.alloc(PAGE_RECORDS * FINGERPRINT_BYTES), isSet: new Uint8Array(PAGE_RECORDS) };
      pages.set(number, page);
      drops.push(() => {
        pages.delete(number);
        givenUp.add(number);
      });
      if (drops.length > maxPages) drops.shift()?.();
      return page;
    }

    return {
      compare(seq, hash) {
        const number = Math.floor(seq / PAGE_RECORDS);
        if (givenUp.has(number)) return "given up";
        const page = pages.get(number);
        const at = seq % PAGE_RECORDS;
        if (page === undefined || page.isSet[at] === 0) return "unknown";
        const start = at * FINGERPRINT_BYTES;
        const known = page.bytes.subarray(start, start + FINGERPRINT_BYTES);
        return fingerprintOf(hash).equals(known) ? "same" : "other";
      },
      put(seq, hash) {
        const page = pageOf(Math.floor(seq / PAGE_RECORDS));
        const at = seq % PAGE_RECORDS;
        page.isSet[at] = 1;
        fingerprintOf(hash).copy(page.bytes, at * FINGERPRINT_BYTES);
      },
    };
  }

  return { chain };
}

function fingerprintOf(hash: string): Buffer {
  return Buffer.from(hash, "base64url").subarray(0, FINGERPRINT_BYTES);
}
