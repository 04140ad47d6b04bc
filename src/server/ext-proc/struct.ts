/** Reads values of a `google.protobuf.Struct` in the form that proto-loader gives it. */
import type { Struct, Struct__Output, Value } from "./messages.generated.ts";

type Plain = string | readonly string[];

export function toStruct(members: Readonly<Record<string, Plain>>): Struct {
  return { fields: Object.fromEntries(Object.entries(members).map(([name, value]) => [name, wireValue(value)])) };
}

const wireValue = (value: Plain): Value =>
  typeof value === "string"
    ? { stringValue: value }
    : { listValue: { values: value.map((item) => ({ stringValue: item })) } };

/** Returns the text two levels down, or `undefined` if there is none. */
export function nestedText(struct: Struct__Output | undefined, outer: string, inner: string): string | undefined {
  return struct?.fields?.[outer]?.structValue?.fields?.[inner]?.stringValue;
}
