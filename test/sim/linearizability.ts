/**
 * Checks whether a history of one object is linearizable: Wing and Gong's search with Lowe's memoization, as in
 * Porcupine. Histories are checked for each key separately, which is enough (Herlihy and Wing: linearizability is
 * local).
 *
 * An operation with an unknown outcome has no return: it may take effect at any later time, or never. Such operations
 * make the search long. Three rules keep it short: an operation that only observes takes effect as soon as it can,
 * since nothing later depends on it; unknown operations are tried after known ones, and not where they would change
 * nothing or be overwritten at once; among equal unknown operations the earliest is taken first. Steps limit the time,
 * and the number of remembered states limits the memory.
 */

/** `call` < `return`. Only the order of times matters; equal times count as overlapping. */
export interface Operation<I, O> {
  readonly input: I;
  /** `undefined` when the outcome is unknown. */
  readonly returned: { readonly at: number; readonly output: O } | undefined;
  readonly call: number;
}

/** A sequential object. States are numbers, which are cheap to compare and remember. */
export interface Model<I, O> {
  readonly initial: number;
  /** The state after `input`; `undefined` when `output` is impossible in `state`. An `undefined` output matches any. */
  step(state: number, input: I, output: O | undefined): number | undefined;
  /** Whether an operation with this output left the state unchanged, whatever the state was. */
  observes(input: I, output: O): boolean;
  /** Whether an operation leads to the same state and output whatever the state was. */
  overwrites(input: I): boolean;
}

export type Verdict =
  | { readonly kind: "linearizable" }
  | { readonly kind: "violated" }
  /** Given up after `maxSteps`. */
  | { readonly kind: "undecided" };

/** A call or return in a doubly linked list ordered by time. */
interface Node {
  readonly operation: number;
  /** The node of the return; `undefined` for a return. */
  readonly match: Node | undefined;
  previous: Node | undefined;
  next: Node | undefined;
}

interface Step {
  readonly state: number;
  /** Node of a known operation; `undefined` for an unknown one. */
  readonly node: Node | undefined;
  /** For an unknown operation: its number, and the return before which it took effect. */
  readonly unknown: number;
  readonly before: Node | undefined;
  /** No alternative needs to be tried. */
  readonly isForced: boolean;
}

/** An operation without a return. */
interface Unknown<I> {
  readonly input: I;
  readonly call: number;
  /** Index of the nearest earlier operation with the same input; -1 for none. */
  readonly twin: number;
}

/** Takes some tens of megabytes. Beyond it the search continues and may repeat states. */
const MAX_REMEMBERED = 200_000;

export function checkLinearizable<I, O>(
  history: readonly Operation<I, O>[],
  model: Model<I, O>,
  maxSteps: number,
): Verdict {
  const known = history.filter(({ returned }) => returned !== undefined).sort((a, b) => a.call - b.call);
  const unknown = unknownOf(history);
  const head = linked(known);
  const done = new Int32Array(Math.ceil(known.length / 32));
  const isTaken = unknown.map(() => false);
  const visited = new Set<string>();
  const taken: Step[] = [];
  let doneKnown = 0;
  let state = model.initial;
  let at = head.next;
  let candidate = 0;

  /** Returns false when the search was in this state before. */
  const enter = (step: Step, after: number): boolean => {
    const mark = markOf(after, done, isTaken);
    if (visited.has(mark)) return false;
    if (visited.size < MAX_REMEMBERED) visited.add(mark);
    taken.push(step);
    state = after;
    at = head.next;
    candidate = 0;
    return true;
  };

  /** An unknown operation that is overwritten at once may be left out; the search tries that elsewhere. */
  const isInVain = (input: I): boolean => {
    const last = taken.at(-1);
    return last !== undefined && last.node === undefined && model.overwrites(input);
  };

  const takeKnown = (node: Node): boolean => {
    const { input, returned } = known[node.operation]!;
    if (isInVain(input)) return false;
    const { output } = returned!;
    const after = model.step(state, input, output);
    if (after === undefined) return false;
    const bit = 1 << (node.operation & 31);
    done[node.operation >> 5]! |= bit;
    const isForced = model.observes(input, output);
    if (!enter({ state, node, unknown: -1, before: undefined, isForced }, after)) {
      done[node.operation >> 5]! &= ~bit;
      return false;
    }
    doneKnown += 1;
    lift(node);
    at = head.next;
    return true;
  };

  const takeUnknown = (index: number, before: Node | undefined): boolean => {
    const { input, call, twin } = unknown[index]!;
    if (isTaken[index] || isInVain(input) || (twin >= 0 && !isTaken[twin])) return false;
    if (before !== undefined && call > known[before.operation]!.returned!.at) return false;
    const after = model.step(state, input, undefined);
    if (after === undefined || after === state) return false;
    isTaken[index] = true;
    if (enter({ state, node: undefined, unknown: index, before, isForced: false }, after)) return true;
    isTaken[index] = false;
    return false;
  };

  /** Returns to the last step with an alternative; false when there is none. */
  const goBack = (): boolean => {
    for (let last = taken.pop(); last !== undefined; last = taken.pop()) {
      state = last.state;
      const { node } = last;
      if (node === undefined) {
        isTaken[last.unknown] = false;
        at = last.before;
        candidate = last.unknown + 1;
        return true;
      }
      done[node.operation >> 5]! &= ~(1 << (node.operation & 31));
      doneKnown -= 1;
      unlift(node);
      at = node.next;
      candidate = 0;
      if (!last.isForced) return true;
    }
    return false;
  };

  for (let steps = 0; doneKnown < known.length; steps += 1) {
    if (steps > maxSteps) return { kind: "undecided" };
    if (at?.match !== undefined) {
      if (!takeKnown(at)) at = at.next;
      continue;
    }
    // At a return or the end of the list, all known operations called before it have been tried.
    if (candidate < unknown.length) {
      const index = candidate;
      candidate += 1;
      takeUnknown(index, at);
      continue;
    }
    if (!goBack()) return { kind: "violated" };
  }
  return { kind: "linearizable" };
}

function unknownOf<I, O>(history: readonly Operation<I, O>[]): readonly Unknown<I>[] {
  const latest = new Map<string, number>();
  return history
    .filter(({ returned }) => returned === undefined)
    .sort((a, b) => a.call - b.call)
    .map(({ input, call }, index) => {
      const text = JSON.stringify(input);
      const twin = latest.get(text) ?? -1;
      latest.set(text, index);
      return { input, call, twin };
    });
}

/** A key for a state and the operations that took effect before it, without the words whose operations are all done. */
function markOf(state: number, done: Int32Array, isTaken: readonly boolean[]): string {
  let low = 0;
  while (low < done.length && done[low] === -1) low += 1;
  let high = done.length;
  while (high > low && done[high - 1] === 0) high -= 1;
  let mark = `${state}:${low}`;
  for (let word = low; word < high; word += 1) mark += `,${done[word]}`;
  for (let index = 0; index < isTaken.length; index += 1) if (isTaken[index]) mark += `+${index}`;
  return mark;
}

/** Head of the list, whose `next` is the earliest call or return. At equal times calls come before returns. */
function linked<I, O>(known: readonly Operation<I, O>[]): Node {
  const points = known.flatMap(({ call, returned }, operation) => {
    const end: Node = { operation, match: undefined, previous: undefined, next: undefined };
    const start: Node = { operation, match: end, previous: undefined, next: undefined };
    return [
      { at: call, order: 0, node: start },
      { at: returned!.at, order: 1, node: end },
    ];
  });
  points.sort((a, b) => (a.at === b.at ? a.order - b.order : a.at < b.at ? -1 : 1));
  const head: Node = { operation: -1, match: undefined, previous: undefined, next: undefined };
  let last = head;
  for (const { node } of points) {
    last.next = node;
    node.previous = last;
    last = node;
  }
  return head;
}

function unlink(node: Node): void {
  if (node.previous !== undefined) node.previous.next = node.next;
  if (node.next !== undefined) node.next.previous = node.previous;
}

function relink(node: Node): void {
  if (node.previous !== undefined) node.previous.next = node;
  if (node.next !== undefined) node.next.previous = node;
}

function lift(call: Node): void {
  unlink(call);
  unlink(call.match!);
}

/** Undoes `lift`, in reverse order. */
function unlift(call: Node): void {
  relink(call.match!);
  relink(call);
}
