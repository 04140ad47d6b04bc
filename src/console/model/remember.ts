/**
 * Results kept for as long as what they were made of is the same, by identity. The clock is never among it, so that a
 * second's passing sorts nothing.
 */

/** Gives what was made of the same things, if that is among the newest, and else makes it. */
export type Recall<T> = (madeOf: readonly unknown[], make: () => T) => T;

/** Keeps the newest `kept` results. */
export function createRecall<T>(kept = 4): Recall<T> {
  let results: readonly { readonly madeOf: readonly unknown[]; readonly result: T }[] = [];
  return (madeOf, make) => {
    const known = results.find((one) => isSame(one.madeOf, madeOf));
    if (known !== undefined) return known.result;
    const result = make();
    results = [{ madeOf, result }, ...results.slice(0, kept - 1)];
    return result;
  };
}

/** The same function, asked again only for arguments that are not among its newest. */
export function remember<Args extends readonly unknown[], T>(
  make: (...args: Args) => T,
  kept = 4,
): (...args: Args) => T {
  const recall = createRecall<T>(kept);
  return (...args) => recall(args, () => make(...args));
}

const isSame = (a: readonly unknown[], b: readonly unknown[]): boolean =>
  a.length === b.length && a.every((value, at) => Object.is(value, b[at]));
