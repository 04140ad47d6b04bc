/**
 * Types of CEL and their assignability. Source: CEL language definition, "Gradual Type Checking". The algorithm is the usual
 * unification with type parameters; `dyn` is assignable both ways.
 *
 * A record is a type of this project: an object with declared fields, such as `key`. It has no literals.
 */

type Scalar = "bool" | "int" | "uint" | "double" | "string" | "bytes" | "null" | "timestamp" | "duration" | "dyn";

export type Type =
  | { readonly kind: Scalar }
  | { readonly kind: "list"; readonly item: Type }
  | { readonly kind: "map"; readonly key: Type; readonly value: Type }
  | { readonly kind: "record"; readonly name: string; readonly fields: Readonly<Record<string, Type>> }
  /** Type of `type(x)` and of type names used as values, such as `int`. */
  | { readonly kind: "type" }
  /** Type parameter. It stands for the same type throughout one use of a function. */
  | { readonly kind: "param"; readonly name: string };

export const BOOL: Type = { kind: "bool" };
export const INT: Type = { kind: "int" };
export const UINT: Type = { kind: "uint" };
export const DOUBLE: Type = { kind: "double" };
export const STRING: Type = { kind: "string" };
export const BYTES: Type = { kind: "bytes" };
export const NULL: Type = { kind: "null" };
export const TIMESTAMP: Type = { kind: "timestamp" };
export const DURATION: Type = { kind: "duration" };
export const DYN: Type = { kind: "dyn" };
export const TYPE: Type = { kind: "type" };

export const listOf = (item: Type): Type => ({ kind: "list", item });
export const mapOf = (key: Type, value: Type): Type => ({ kind: "map", key, value });
export const param = (name: string): Type => ({ kind: "param", name });
export const recordOf = (name: string, fields: Readonly<Record<string, Type>>): Type => ({
  kind: "record",
  name,
  fields,
});

export function typeText(type: Type): string {
  switch (type.kind) {
    case "list":
      return `list(${typeText(type.item)})`;
    case "map":
      return `map(${typeText(type.key)}, ${typeText(type.value)})`;
    case "record":
    case "param":
      return type.kind === "record" ? type.name : "dyn";
    default:
      return type.kind;
  }
}

/** Types that type parameters are bound to so far, by name. */
export type Bindings = Map<string, Type>;

/** Follows bindings of the outermost type only. */
export function resolved(type: Type, bindings: Bindings): Type {
  let at = type;
  while (at.kind === "param") {
    const bound = bindings.get(at.name);
    if (bound === undefined) return at;
    at = bound;
  }
  return at;
}

/** Follows bindings everywhere. If `close` is set, unbound parameters become `dyn`. */
export function substituted(type: Type, bindings: Bindings, close = false): Type {
  const at = resolved(type, bindings);
  switch (at.kind) {
    case "param":
      return close ? DYN : at;
    case "list":
      return listOf(substituted(at.item, bindings, close));
    case "map":
      return mapOf(substituted(at.key, bindings, close), substituted(at.value, bindings, close));
    default:
      return at;
  }
}

/** Returns whether a value of `from` is assignable to `to`; binds type parameters, even if it returns false. */
export function assign(to: Type, from: Type, bindings: Bindings): boolean {
  const wanted = resolved(to, bindings);
  const source = resolved(from, bindings);
  if (wanted === source) return true;
  if (source.kind === "param") return bind(source.name, wanted, bindings);
  if (wanted.kind === "param") return bind(wanted.name, source, bindings);
  if (to.kind === "param") {
    // The parameter was bound by an earlier argument. Wherever one of the two types is `dyn`, their common type is
    // `dyn` too.
    const fits = assign(wanted, source, bindings);
    if (fits) bindings.set(to.name, widened(wanted, source, bindings));
    return fits;
  }
  if (wanted.kind === "dyn" || source.kind === "dyn") return true;
  switch (wanted.kind) {
    case "list":
      return source.kind === "list" && assign(wanted.item, source.item, bindings);
    case "map":
      return (
        source.kind === "map" &&
        assign(wanted.key, source.key, bindings) &&
        assign(wanted.value, source.value, bindings)
      );
    case "record":
      return source.kind === "record" && source.name === wanted.name;
    case "timestamp":
    case "duration":
      return source.kind === wanted.kind || source.kind === "null";
    default:
      return source.kind === wanted.kind;
  }
}

/** Joins two compatible types: `dyn` wherever one of them is `dyn`. */
function widened(one: Type, other: Type, bindings: Bindings): Type {
  const [a, b] = [resolved(one, bindings), resolved(other, bindings)];
  if (a.kind === "dyn" || b.kind === "dyn") return DYN;
  if (a.kind === "list" && b.kind === "list") return listOf(widened(a.item, b.item, bindings));
  if (a.kind === "map" && b.kind === "map") {
    return mapOf(widened(a.key, b.key, bindings), widened(a.value, b.value, bindings));
  }
  return a;
}

function bind(name: string, type: Type, bindings: Bindings): boolean {
  const at = resolved(type, bindings);
  if (at.kind === "param" && at.name === name) return true;
  if (mentions(at, name, bindings)) return false;
  bindings.set(name, at);
  return true;
}

function mentions(type: Type, name: string, bindings: Bindings): boolean {
  const at = resolved(type, bindings);
  switch (at.kind) {
    case "param":
      return at.name === name;
    case "list":
      return mentions(at.item, name, bindings);
    case "map":
      return mentions(at.key, name, bindings) || mentions(at.value, name, bindings);
    default:
      return false;
  }
}

/** Returns the common type of a list's items, a map's values, or the branches of a choice; `dyn` if there is none. */
export function joined(one: Type, other: Type, bindings: Bindings): Type {
  let trial = new Map(bindings);
  if (!assign(one, other, trial)) {
    trial = new Map(bindings);
    if (!assign(other, one, trial)) return DYN;
  }
  for (const [name, type] of trial) bindings.set(name, type);
  return generality(one, bindings) >= generality(other, bindings) ? one : other;
}

/**
 * Returns the rank of a type in the choice between two compatible types, of which the higher-ranked one wins: 2 for `dyn`, 1
 * for a concrete type, 0 for an unbound type parameter, -1 for null. A list or map has the rank of its items.
 */
function generality(type: Type, bindings: Bindings): number {
  const at = resolved(type, bindings);
  switch (at.kind) {
    case "dyn":
      return 2;
    case "param":
      return 0;
    case "list":
      return generality(at.item, bindings);
    case "map":
      return Math.max(generality(at.key, bindings), generality(at.value, bindings));
    case "null":
      return -1;
    default:
      return 1;
  }
}
