/**
 * Set of texts in code unit order, stored as a list of short sorted lists: adding or removing a text moves at most `MAX_CHUNK`
 * neighbors, however many there are. It must not be changed while it is being iterated.
 */

const MAX_CHUNK = 512;
/** Minimum length of a list; a shorter one is joined with its neighbor, so that removals do not leave many short lists. */
const MIN_CHUNK = 96;

interface OrderedKeys {
  /** Adds a text that is not in the set. */
  add(key: string): void;
  delete(key: string): void;
  /** Returns the keys from `start` on (inclusive), in order. */
  from(start: string): Iterable<string>;
  clear(): void;
}

export function createOrderedKeys(): OrderedKeys {
  let chunks: string[][] = [];

  /** Returns the index of the chunk that contains `key` or would contain it: the last one that does not begin after it. */
  function chunkOf(key: string): number {
    let low = 0;
    let high = chunks.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (chunks[middle]![0]! <= key) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  /** Returns whether `key` follows all others. Rows that are loaded come in order, and need no search then. */
  const isAfterAll = (key: string): boolean => (chunks.at(-1)?.at(-1) ?? key) < key;

  /** Joins the chunk at `at` with the next one if both are short. */
  function join(at: number): void {
    const [left, right] = [chunks[at], chunks[at + 1]];
    if (left === undefined || right === undefined || left.length + right.length > MAX_CHUNK / 2) return;
    chunks.splice(at, 2, [...left, ...right]);
  }

  return {
    add(key) {
      const isLast = isAfterAll(key);
      const at = isLast ? chunks.length - 1 : chunkOf(key);
      const chunk = chunks[at];
      if (chunk === undefined) {
        chunks.push([key]);
        return;
      }
      if (isLast) chunk.push(key);
      else chunk.splice(lowerBound(chunk, key), 0, key);
      // Keys are often added in order, so the left part stays nearly full.
      if (chunk.length > MAX_CHUNK) chunks.splice(at + 1, 0, chunk.splice(MAX_CHUNK - MIN_CHUNK));
    },
    delete(key) {
      const at = chunkOf(key);
      const chunk = chunks[at];
      if (chunk === undefined) return;
      const position = lowerBound(chunk, key);
      if (chunk[position] !== key) return;
      chunk.splice(position, 1);
      if (chunk.length === 0) {
        chunks.splice(at, 1);
      } else if (chunk.length < MIN_CHUNK) {
        join(at);
        if (at > 0) join(at - 1);
      }
    },
    *from(start) {
      let at = chunkOf(start);
      let position = lowerBound(chunks[at] ?? [], start);
      for (; at < chunks.length; at += 1, position = 0) {
        const chunk = chunks[at]!;
        for (; position < chunk.length; position += 1) yield chunk[position]!;
      }
    },
    clear() {
      chunks = [];
    },
  };
}

/** Returns the first position in a sorted list whose text is not below `key`. */
function lowerBound(sorted: readonly string[], key: string): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle]! < key) low = middle + 1;
    else high = middle;
  }
  return low;
}
