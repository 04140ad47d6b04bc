/**
 * Small parsers for commands and rows. Each takes any JSON value and returns a valid value, or throws `Malformed`. Texts, lists
 * and maps have limits, numbers are safe integers, unknown fields are refused.
 *
 * A parsed object has its fields in the declared order, and a map has its names sorted, so that equal content has equal JSON
 * whatever the order in which it was written.
 */

export class Malformed extends Error {
  constructor(message: string) {
    super(message);
    this.name = "Malformed";
  }
}

export type Parser<T> = (value: unknown) => T;

/** Accepted values of a parser, as data. The shapes of commands and rows are recorded, so that tests detect changes. */
export type Shape = string | readonly Shape[] | { readonly [name: string]: Shape };

/** Shapes by parser, built on demand; only tests use them. */
const shapes = new WeakMap<Parser<unknown>, () => Shape>();

/** Attaches a shape to a parser that the functions below do not build. */
export function shaped<T>(parser: Parser<T>, shape: () => Shape): Parser<T> {
  shapes.set(parser, shape);
  return parser;
}

/** Returns the shape of a parser. Throws a `RangeError` if it has none. */
export function shapeOf(parser: Parser<unknown>): Shape {
  const shape = shapes.get(parser);
  if (shape === undefined) throw new RangeError("a parser without its shape: give it one by `shaped`");
  return shape();
}

type Fields = Readonly<Record<string, Parser<unknown>>>;
type OptionalName<F extends Fields> = { [K in keyof F]: undefined extends ReturnType<F[K]> ? K : never }[keyof F];
type Parsed<F extends Fields> = {
  readonly [K in Exclude<keyof F, OptionalName<F>>]: ReturnType<F[K]>;
} & {
  readonly [K in OptionalName<F>]?: Exclude<ReturnType<F[K]>, undefined>;
};

/** Matches names that people choose: not empty, no control characters. */
const LABEL = /^[^\u0000-\u001f\u007f]+$/;

/**
 * Parses a text that matches `pattern`, of at most `max` UTF-16 units. Lone surrogates cannot be encoded in UTF-8 and are
 * refused.
 */
export function text(pattern: RegExp, max: number): Parser<string> {
  const parser: Parser<string> = (value) => {
    if (typeof value !== "string" || value.length > max || !value.isWellFormed() || !pattern.test(value)) {
      throw new Malformed("a text is malformed");
    }
    return value;
  };
  return shaped(parser, () => `text of ${max}: ${pattern}`);
}

export const label = (max = 128): Parser<string> => text(LABEL, max);
/** Parses any text without NUL, possibly empty. */
export const prose = (max: number): Parser<string> => text(/^[^\u0000]*$/, max);
/** Parses names used in paths and row keys. */
export const identifier = text(/^[A-Za-z0-9][A-Za-z0-9._-]*$/, 128);
export const sha256Hex = text(/^[0-9a-f]{64}$/, 64);
export const base64 = (max: number): Parser<string> =>
  text(/^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/, max);

export function integer(min = 0, max = Number.MAX_SAFE_INTEGER): Parser<number> {
  const parser: Parser<number> = (value) => {
    if (
      typeof value !== "number" ||
      !Number.isSafeInteger(value) ||
      Object.is(value, -0) ||
      value < min ||
      value > max
    ) {
      throw new Malformed("a number is malformed or out of range");
    }
    return value;
  };
  return shaped(parser, () => `integer from ${min} to ${max}`);
}

export const flag: Parser<boolean> = shaped(
  (value) => {
    if (typeof value !== "boolean") throw new Malformed("not a boolean");
    return value;
  },
  () => "boolean",
);

export function choice<const T extends string>(options: readonly T[]): Parser<T> {
  const parser: Parser<T> = (value) => {
    const found = options.find((option) => option === value);
    if (found === undefined) throw new Malformed("not one of the known words");
    return found;
  };
  return shaped(parser, () => ["one of", ...options]);
}

export function nullable<T>(parser: Parser<T>): Parser<T | null> {
  const orNull: Parser<T | null> = (value) => (value === null ? null : parser(value));
  return shaped(orNull, () => ["null or", shapeOf(parser)]);
}

export function optional<T>(parser: Parser<T>): Parser<T | undefined> {
  const orNothing: Parser<T | undefined> = (value) => (value === undefined ? undefined : parser(value));
  return shaped(orNothing, () => ["optional", shapeOf(parser)]);
}

export function listOf<T>(parser: Parser<T>, max: number, min = 0): Parser<readonly T[]> {
  const list: Parser<readonly T[]> = (value) => {
    if (!Array.isArray(value) || value.length > max || value.length < min) {
      throw new Malformed("a list is malformed, too short or too long");
    }
    return value.map((item: unknown) => parser(item));
  };
  return shaped(list, () => [`list of ${min} to ${max}`, shapeOf(parser)]);
}

export function mapOf<T>(name: Parser<string>, parser: Parser<T>, max: number): Parser<{ readonly [name: string]: T }> {
  const map: Parser<{ readonly [name: string]: T }> = (value) => {
    const names = Object.keys(recordOf(value)).sort();
    if (names.length > max) throw new Malformed("a map has too many names");
    const source = recordOf(value);
    // `fromEntries` defines own properties, so a name such as `__proto__` is only a name.
    return Object.fromEntries(names.map((each) => [name(each), parser(source[each])]));
  };
  return shaped(map, () => [`map of up to ${max}`, shapeOf(name), shapeOf(parser)]);
}

export function object<const F extends Fields>(fields: F): Parser<Parsed<F>> {
  const declared = Object.entries(fields);
  const parser: Parser<Parsed<F>> = (value) => {
    const source = recordOf(value);
    for (const name of Object.keys(source)) if (!Object.hasOwn(fields, name)) throw new Malformed("an unknown field");
    const parsed: [string, unknown][] = [];
    for (const [name, parser] of declared) {
      const field = parser(Object.hasOwn(source, name) ? source[name] : undefined);
      if (field !== undefined) parsed.push([name, field]);
    }
    return Object.fromEntries(parsed) as Parsed<F>;
  };
  return shaped(parser, () => Object.fromEntries(declared.map(([name, field]) => [name, shapeOf(field)])));
}

function recordOf(value: unknown): Readonly<Record<string, unknown>> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw new Malformed("not an object");
  return value as Readonly<Record<string, unknown>>;
}
