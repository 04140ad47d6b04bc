/**
 * Implements `format` of the strings extension with the CEL library: values are converted to the library's own. The conversion
 * is charged by the amount to print, which also bounds the result. The precision, which the library reads from the format text,
 * is charged too.
 */

import { create } from "@bufbuild/protobuf";
import { reflect } from "@bufbuild/protobuf/reflect";
import { DurationSchema, TimestampSchema } from "@bufbuild/protobuf/wkt";
import { type CelInput, CelScalar, type CelValue, celList, celMap, celUint, isCelError, objectType } from "cel-js";
import { strings } from "cel-js/ext";
import { Duration, isList, mapEntries, Timestamp, TypeValue, Uint, type Value } from "./cel-values.ts";
import { COST_FAULT, Fault, NO_OVERLOAD } from "./evaluation-faults.ts";
import { charge, chargeText, type Frame, type Run } from "./evaluation-frame.ts";

const BAD_FORMAT = new Fault("other", "the format does not fit its arguments");

const SECOND = 1_000_000_000n;

/** Error that leaves the recursion of `converted`. Caught in this file. */
class Spent extends Error {}

const TYPES: Readonly<Record<string, CelValue>> = Object.fromEntries(
  Object.values(CelScalar).map((type) => [type.name, type]),
);

const format = strings.find(({ name }) => name === "format");

function converted(frame: Frame, value: Value): CelInput {
  if (!charge(frame, 4)) throw new Spent();
  if (typeof value === "string" && !chargeText(frame, value.length)) throw new Spent();
  if (typeof value !== "object" || value === null) return value;
  if (value instanceof Uint8Array) {
    if (!chargeText(frame, value.length * 8)) throw new Spent();
    return value;
  }
  if (value instanceof Uint) return celUint(value.value);
  if (value instanceof Timestamp) return reflect(TimestampSchema, create(TimestampSchema, split(value.nanos, true)));
  if (value instanceof Duration) return reflect(DurationSchema, create(DurationSchema, split(value.nanos, false)));
  if (value instanceof TypeValue) return TYPES[value.name] ?? objectType(value.name);
  if (isList(value)) return celList(value.map((item) => converted(frame, item)));
  const entries = mapEntries(value).map(([key, item]) => [converted(frame, key), converted(frame, item)] as const);
  return celMap(new Map(entries) as ReadonlyMap<string, CelInput>);
}

/**
 * Splits nanoseconds into seconds and nanoseconds as protobuf does. `isFloored`: the nanoseconds are never negative
 * (timestamps); otherwise both have the same sign (durations).
 */
function split(nanos: bigint, isFloored: boolean): { readonly seconds: bigint; readonly nanos: number } {
  const rest = isFloored ? ((nanos % SECOND) + SECOND) % SECOND : nanos % SECOND;
  return { seconds: (nanos - rest) / SECOND, nanos: Number(rest) };
}

const run: Run = (frame, text, args) => {
  if (typeof text !== "string" || !isList(args) || format === undefined) return NO_OVERLOAD;
  if (!chargeText(frame, text.length * 8)) return COST_FAULT;
  try {
    const list = celList(args.map((item) => converted(frame, item)));
    const result = format.call(0, text, [list]);
    return typeof result === "string" && !isCelError(result) ? result : BAD_FORMAT;
  } catch (error) {
    if (error instanceof Spent) return COST_FAULT;
    throw error;
  }
};

export const FORMAT_FUNCTIONS: Readonly<Record<string, Run>> = { format: run };
