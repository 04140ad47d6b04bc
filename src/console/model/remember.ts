/** Memoization by identity of the inputs. The clock is never an input, so a new second does not cause a new sort. */

/** Returns the cached result for the same inputs if it is among the newest, otherwise computes it. */
export type Memo<T> = (inputs: readonly unknown[], make: () => T) => T;

/** Creates a cache of the newest `kept` results. */
export function createMemo<T>(capacity = 4): Memo<T> {
  let results: readonly { readonly inputs: readonly unknown[]; readonly result: T }[] = [];
  return (inputs, make) => {
    const known = results.find((one) => isSame(one.inputs, inputs));
    if (known !== undefined) return known.result;
    const result = make();
    results = [{ inputs, result }, ...results.slice(0, capacity - 1)];
    return result;
  };
}

/** Memoizes a function for its newest arguments. */
export function remember<Args extends readonly unknown[], T>(
  make: (...args: Args) => T,
  capacity = 4,
): (...args: Args) => T {
  const recall = createMemo<T>(capacity);
  return (...args) => recall(args, () => make(...args));
}

const isSame = (a: readonly unknown[], b: readonly unknown[]): boolean =>
  a.length === b.length && a.every((value, at) => Object.is(value, b[at]));
