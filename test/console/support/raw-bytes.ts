/** Everything a program has written to its terminal: counts of the whole, and the last `KEPT_BYTES`. */

/** A run of ten minutes needs only the counts. */
const KEPT_BYTES = 4 * 1_024 * 1_024;

/** Counted sequences by the name of their counter. */
const COUNTED = {
  /** Clears the screen. */
  clears: "\u001b[2J",
  /** Clears the scrollback. */
  scrollbackClears: "\u001b[3J",
  alternateEntries: "\u001b[?1049h",
  alternateLeaves: "\u001b[?1049l",
} as const;

const LONGEST = Math.max(...Object.values(COUNTED).map((sequence) => sequence.length));

type Counts = { readonly [Name in keyof typeof COUNTED]: number };

export interface RawBytes extends Counts {
  /** Number of bytes so far. */
  readonly total: number;
  /** Returns the last `KEPT_BYTES` as UTF-8. */
  text(): string;
  add(bytes: Uint8Array): void;
}

export function createRawBytes(): RawBytes {
  const counts = { clears: 0, scrollbackClears: 0, alternateEntries: 0, alternateLeaves: 0 };
  const chunks: Uint8Array[] = [];
  let kept = 0;
  let total = 0;
  let tail = "";

  return {
    get total() {
      return total;
    },
    get clears() {
      return counts.clears;
    },
    get scrollbackClears() {
      return counts.scrollbackClears;
    },
    get alternateEntries() {
      return counts.alternateEntries;
    },
    get alternateLeaves() {
      return counts.alternateLeaves;
    },
    text: () => Buffer.concat(chunks).toString("utf8"),
    add(bytes) {
      total += bytes.length;
      kept += bytes.length;
      chunks.push(bytes);
      while (kept > KEPT_BYTES && chunks.length > 1) kept -= chunks.shift()?.length ?? 0;
      const text = tail + Buffer.from(bytes).toString("latin1");
      for (const [name, sequence] of Object.entries(COUNTED)) {
        // Sequences that end in the tail were counted with the previous chunk.
        for (let at = text.indexOf(sequence); at >= 0; at = text.indexOf(sequence, at + 1)) {
          if (at + sequence.length > tail.length) counts[name as keyof Counts] += 1;
        }
      }
      tail = text.slice(-(LONGEST - 1));
    },
  };
}
