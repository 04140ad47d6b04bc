/**
 * Line difference of two texts: E. Myers, "An O(ND) Difference Algorithm and Its Variations" (1986), the greedy algorithm of
 * section 4, between anchors: lines that occur exactly once in both texts (patience difference), so that moved blocks stay
 * readable.
 *
 * A stretch with more than `MAX_CHANGES` differing lines is shown as completely replaced, which is correct but long: time is
 * limited by lines times `MAX_CHANGES`, memory by the square of `MAX_CHANGES`.
 */

/** Step of a difference. `from` and `to` are line indices in the two texts, from 0. */
export type Operation =
  | { readonly kind: "keep"; readonly from: number; readonly to: number }
  | { readonly kind: "remove"; readonly from: number }
  | { readonly kind: "add"; readonly to: number };

/**
 * Returns the lines including their `
 * `, which the last one may lack.
 */
export function linesOf(text: string): readonly string[] {
  const lines = text.split("\n");
  const last = lines.pop() ?? "";
  const ended = lines.map((line) => `${line}\n`);
  return last === "" ? ended : [...ended, last];
}

const MAX_CHANGES = 1_000;

/** Range of both texts; ends are exclusive. */
interface RangePair {
  readonly from: number;
  readonly fromEnd: number;
  readonly to: number;
  readonly toEnd: number;
}

/** Returns the operations in order: kept and removed lines form the first text, kept and added lines the second. */
export function differenceOf(from: readonly string[], to: readonly string[]): readonly Operation[] {
  const operations: Operation[] = [];
  let [left, right] = [0, 0];
  const upTo = (fromEnd: number, toEnd: number): void => {
    between({ from: left, fromEnd, to: right, toEnd }, from, to, operations);
    [left, right] = [fromEnd, toEnd];
  };
  for (const anchor of anchorsOf(from, to)) {
    upTo(anchor.from, anchor.to);
    operations.push({ kind: "keep", ...anchor });
    [left, right] = [anchor.from + 1, anchor.to + 1];
  }
  upTo(from.length, to.length);
  return operations;
}

interface Pair {
  readonly from: number;
  readonly to: number;
}

/** Returns lines that occur once in both texts, as many as have the same order: a longest increasing subsequence. */
function anchorsOf(from: readonly string[], to: readonly string[]): readonly Pair[] {
  const inTo = onceOf(to);
  const pairs: Pair[] = [];
  for (const [line, at] of onceOf(from)) {
    const there = inTo.get(line);
    if (there !== undefined) pairs.push({ from: at, to: there });
  }
  return longestRising(pairs);
}

/** Returns the positions of lines that occur once, in order. */
function onceOf(lines: readonly string[]): ReadonlyMap<string, number> {
  const once = new Map<string, number>();
  const seen = new Set<string>();
  for (const [at, line] of lines.entries()) {
    if (seen.has(line)) once.delete(line);
    else once.set(line, at);
    seen.add(line);
  }
  return once;
}

/** Returns a longest subsequence that increases in `to`; `pairs` increases in `from`. Uses the piles of patience sorting. */
function longestRising(pairs: readonly Pair[]): readonly Pair[] {
  const tops: number[] = [];
  const before: number[] = [];
  for (const [at, { to }] of pairs.entries()) {
    let [low, high] = [0, tops.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((pairs[tops[middle] ?? 0]?.to ?? 0) < to) low = middle + 1;
      else high = middle;
    }
    before.push(low === 0 ? -1 : (tops[low - 1] ?? -1));
    tops[low] = at;
  }
  const run: Pair[] = [];
  for (let at = tops.at(-1) ?? -1; at >= 0; at = before[at] ?? -1) {
    const pair = pairs[at];
    if (pair !== undefined) run.push(pair);
  }
  return run.reverse();
}

function between(stretch: RangePair, from: readonly string[], to: readonly string[], operations: Operation[]): void {
  const trimmed = trim(stretch, from, to);
  for (let at = stretch.from; at < trimmed.from; at += 1) {
    operations.push({ kind: "keep", from: at, to: stretch.to + at - stretch.from });
  }
  operations.push(...(shortest(trimmed, from, to) ?? replaced(trimmed)));
  for (let at = trimmed.fromEnd; at < stretch.fromEnd; at += 1) {
    operations.push({ kind: "keep", from: at, to: trimmed.toEnd + at - trimmed.fromEnd });
  }
}

/** Returns the stretch without common first and last lines. */
function trim(stretch: RangePair, from: readonly string[], to: readonly string[]): RangePair {
  let { from: left, fromEnd: leftEnd, to: right, toEnd: rightEnd } = stretch;
  while (left < leftEnd && right < rightEnd && from[left] === to[right]) {
    left += 1;
    right += 1;
  }
  while (left < leftEnd && right < rightEnd && from[leftEnd - 1] === to[rightEnd - 1]) {
    leftEnd -= 1;
    rightEnd -= 1;
  }
  return { from: left, fromEnd: leftEnd, to: right, toEnd: rightEnd };
}

function replaced({ from, fromEnd, to, toEnd }: RangePair): readonly Operation[] {
  return [
    ...Array.from({ length: fromEnd - from }, (_, at): Operation => ({ kind: "remove", from: from + at })),
    ...Array.from({ length: toEnd - to }, (_, at): Operation => ({ kind: "add", to: to + at })),
  ];
}

/** Returns the fewest removals and additions; `undefined` if there are more than `MAX_CHANGES`. */
function shortest(
  stretch: RangePair,
  from: readonly string[],
  to: readonly string[],
): readonly Operation[] | undefined {
  const [width, height] = [stretch.fromEnd - stretch.from, stretch.toEnd - stretch.to];
  if (width === 0 || height === 0) return replaced(stretch);
  const most = Math.min(width + height, MAX_CHANGES);
  // Furthest x on each diagonal k = x - y, at index k + most + 1; a trace contains only the diagonals from -d to d.
  const furthest = new Int32Array(2 * most + 3);
  const middle = most + 1;
  const trace: Int32Array[] = [];
  for (let changes = 0; changes <= most; changes += 1) {
    for (let k = -changes; k <= changes; k += 2) {
      const [below, above] = [furthest[middle + k - 1] ?? 0, furthest[middle + k + 1] ?? 0];
      let x = k === -changes || (k !== changes && below < above) ? above : below + 1;
      while (x < width && x - k < height && from[stretch.from + x] === to[stretch.to + x - k]) x += 1;
      furthest[middle + k] = x;
      if (x >= width && x - k >= height) return backtrack({ ...stretch, trace, changes });
    }
    trace.push(furthest.slice(middle - changes, middle + changes + 1));
  }
  return undefined;
}

interface EditTrace extends RangePair {
  /** Furthest x on the diagonals from -d to d, for each number of changes d. */
  readonly trace: readonly Int32Array[];
  readonly changes: number;
}

function backtrack({ from, fromEnd, to, toEnd, trace, changes }: EditTrace): readonly Operation[] {
  const operations: Operation[] = [];
  let [x, y] = [fromEnd - from, toEnd - to];
  const keepBackTo = (startX: number, startY: number): void => {
    while (x > startX && y > startY) {
      x -= 1;
      y -= 1;
      operations.push({ kind: "keep", from: from + x, to: to + y });
    }
  };
  for (let at = changes; at > 0; at -= 1) {
    const before = trace[at - 1] ?? new Int32Array();
    const furthestOn = (k: number): number => before[k + at - 1] ?? 0;
    const k = x - y;
    const isAddition = k === -at || (k !== at && furthestOn(k - 1) < furthestOn(k + 1));
    const startX = isAddition ? furthestOn(k + 1) : furthestOn(k - 1);
    const startY = startX - (isAddition ? k + 1 : k - 1);
    keepBackTo(isAddition ? startX : startX + 1, isAddition ? startY + 1 : startY);
    if (isAddition) operations.push({ kind: "add", to: to + startY });
    else operations.push({ kind: "remove", from: from + startX });
    [x, y] = [startX, startY];
  }
  keepBackTo(0, 0);
  return operations.reverse();
}
