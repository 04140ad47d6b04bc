/** Converts the conformance suite's messages to our values and types; `undefined` for ones without a counterpart. */

import type { Type as ProtoType } from "@bufbuild/cel-spec/cel/expr/checked_pb.js";
import {
  Type_PrimitiveType as Primitive,
  Type_WellKnownType as WellKnown,
} from "@bufbuild/cel-spec/cel/expr/checked_pb.js";
import type { Value as ProtoValue } from "@bufbuild/cel-spec/cel/expr/value_pb.js";
import { anyUnpack, DurationSchema, TimestampSchema } from "@bufbuild/protobuf/wkt";
import { mapKey } from "../../../../src/server/core/cel/cel-values.ts";
import {
  BOOL,
  BYTES,
  CelMap,
  DOUBLE,
  DURATION,
  Duration,
  DYN,
  INT,
  listOf,
  mapOf,
  NULL,
  STRING,
  TIMESTAMP,
  Timestamp,
  type Type,
  TypeValue,
  UINT,
  Uint,
  type Value,
} from "../../../../src/server/core/cel/index.ts";

const SECOND = 1_000_000_000n;

export function ourValue({ kind }: ProtoValue): Value | undefined {
  switch (kind.case) {
    case "nullValue":
      return null;
    case "boolValue":
    case "int64Value":
    case "doubleValue":
    case "stringValue":
    case "bytesValue":
      return kind.value;
    case "uint64Value":
      return new Uint(kind.value);
    case "typeValue":
      return new TypeValue(kind.value);
    case "listValue": {
      const items = kind.value.values.map(ourValue);
      return items.every((item) => item !== undefined) ? items : undefined;
    }
    case "mapValue": {
      const entries = kind.value.entries.map(({ key, value }) => {
        const [own, item] = [key && ourValue(key), value && ourValue(value)];
        const canonical = own === undefined ? undefined : mapKey(own);
        return own === undefined || item === undefined || canonical === undefined
          ? undefined
          : ([canonical, { key: own, value: item }] as const);
      });
      return entries.every((entry) => entry !== undefined) ? new CelMap(new Map(entries)) : undefined;
    }
    case "objectValue": {
      const timestamp = anyUnpack(kind.value, TimestampSchema);
      if (timestamp !== undefined) return new Timestamp(timestamp.seconds * SECOND + BigInt(timestamp.nanos));
      const duration = anyUnpack(kind.value, DurationSchema);
      return duration && new Duration(duration.seconds * SECOND + BigInt(duration.nanos));
    }
    default:
      return undefined;
  }
}

const PRIMITIVES: Readonly<Partial<Record<Primitive, Type>>> = {
  [Primitive.BOOL]: BOOL,
  [Primitive.INT64]: INT,
  [Primitive.UINT64]: UINT,
  [Primitive.DOUBLE]: DOUBLE,
  [Primitive.STRING]: STRING,
  [Primitive.BYTES]: BYTES,
};

export function ourType({ typeKind }: ProtoType): Type | undefined {
  switch (typeKind.case) {
    case "dyn":
      return DYN;
    case "null":
      return NULL;
    case "primitive":
      return PRIMITIVES[typeKind.value];
    case "wellKnown":
      return { [WellKnown.TIMESTAMP]: TIMESTAMP, [WellKnown.DURATION]: DURATION }[typeKind.value as number];
    case "listType": {
      const item = typeKind.value.elemType && ourType(typeKind.value.elemType);
      return item && listOf(item);
    }
    case "mapType": {
      const key = typeKind.value.keyType && ourType(typeKind.value.keyType);
      const value = typeKind.value.valueType && ourType(typeKind.value.valueType);
      return key && value && mapOf(key, value);
    }
    case "type":
      return { kind: "type" };
    case "messageType":
      return { "google.protobuf.Timestamp": TIMESTAMP, "google.protobuf.Duration": DURATION }[typeKind.value];
    default:
      return undefined;
  }
}
