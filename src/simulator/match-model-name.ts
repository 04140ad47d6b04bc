/**
 * Matches model names with the tables of faults and variants.
 *
 * The part after the first colon is ignored, so `sim-429:blue` and `sim-429:green` are two models with one fault. A
 * plus joins rows: `sim-calls-2+odd-no-index` selects `sim-calls-2` and `sim-odd-no-index`.
 */

export interface NameRow<Made> {
  /** Model name, with its parameter in angle brackets. */
  readonly name: string;
  readonly example: string;
  /** Effect on the provider in one line, without a full stop. */
  readonly effect: string;
  /** Returns the result for a parameter, or `undefined` if the parameter is invalid. */
  readonly make: (parameter: string) => Made | undefined;
}

type Match<Made> =
  | { readonly kind: "made"; readonly made: Made }
  /** Name of a row with an invalid parameter. */
  | { readonly kind: "unreadable"; readonly name: string };

const PREFIX = "sim-";

/** Returns the parts of a name, each with the prefix; none if the name does not begin with it. */
export function partsOf(model: string): readonly string[] {
  if (!model.startsWith(PREFIX)) return [];
  const colon = model.indexOf(":");
  const name = colon < 0 ? model : model.slice(0, colon);
  if (!name.includes("+")) return [name];
  return name.split("+").map((part, index) => (index === 0 ? part : PREFIX + part));
}

/** Returns a function that matches a name; its result is `undefined` for an unknown name. */
export function matcherOf<Made>(rows: readonly NameRow<Made>[]): (name: string) => Match<Made> | undefined {
  // `suffix` is `undefined` if the name has no parameter and must match completely.
  const matchers = rows.map((row) => {
    const [, prefix = row.name, suffix] = /^([^<]*)<[^>]*>(.*)$/.exec(row.name) ?? [];
    return { row, prefix, suffix };
  });
  return (name) => {
    for (const { row, prefix, suffix } of matchers) {
      if (suffix === undefined ? name !== prefix : !name.startsWith(prefix)) continue;
      const isEnded = suffix === undefined || name.endsWith(suffix);
      const parameter = isEnded && suffix !== undefined ? name.slice(prefix.length, name.length - suffix.length) : "";
      const made = row.make(parameter);
      return made === undefined ? { kind: "unreadable", name: row.name } : { kind: "made", made };
    }
    return undefined;
  };
}
