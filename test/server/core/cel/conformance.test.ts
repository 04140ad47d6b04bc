/**
 * The conformance cases of the language (cel-spec v0.25.1, by package) with our checker and evaluator.
 *
 * Unsupported features are skipped by name: files of other extensions and of protobuf messages, and single cases that
 * need a message, a container, or an unchecked program.
 */

import assert from "node:assert/strict";
import { test } from "node:test";
import { getConformanceSuite, type IncrementalTest } from "@bufbuild/cel-spec/testdata/tests.js";
import { typeName } from "../../../../src/server/core/cel/cel-values.ts";
import { equals } from "../../../../src/server/core/cel/equality.ts";
import { compileExpression, DYN, type Type, typeText, type Value } from "../../../../src/server/core/cel/index.ts";
import { ourType, ourValue } from "./conformance-values.ts";

/** Minimum number of passing cases per file, without skipped ones. */
const FLOORS: Readonly<Record<string, number>> = {
  basic: 41,
  comparisons: 330,
  conversions: 109,
  // The library's parser has no back-quoted field names, which six cases use.
  fields: 54,
  fp_math: 30,
  integer_math: 64,
  lists: 39,
  logic: 26,
  macros: 44,
  namespace: 1,
  parse: 176,
  plumbing: 5,
  string: 51,
  string_ext: 206,
  timestamps: 76,
  type_deductions: 15,
};

/** Files of functions and macros outside the specification, and of protobuf messages. */
const SKIPPED_FILES: Readonly<Record<string, string>> = {
  bindings_ext: "cel.bind",
  block_ext: "cel.block",
  dynamic: "protobuf messages",
  encoders_ext: "base64",
  enums: "protobuf messages",
  macros2: "macros of two variables",
  math_ext: "math extension",
  optionals: "optional values",
  proto2: "protobuf messages",
  proto2_ext: "protobuf messages",
  proto3: "protobuf messages",
  wrappers: "protobuf messages",
};

type Verdict = { readonly kind: "passed" } | { readonly kind: "skipped" | "failed"; readonly why: string };

const skipped = (reason: string): Verdict => ({ kind: "skipped", why: reason });
const failed = (reason: string): Verdict => ({ kind: "failed", why: reason });

function judge({ original }: IncrementalTest): Verdict {
  if (original.container !== "") return skipped("container");
  const types: Record<string, Type> = {};
  for (const { name, declKind } of original.typeEnv) {
    if (declKind.case !== "ident" || declKind.value.type === undefined) return skipped("declared functions");
    const type = ourType(declKind.value.type);
    if (type === undefined) return skipped("protobuf messages");
    types[name] = type;
  }
  const variables: Record<string, Value> = {};
  for (const [name, { kind }] of Object.entries(original.bindings)) {
    const value = kind.case === "value" ? ourValue(kind.value) : undefined;
    if (value === undefined) return skipped("protobuf messages");
    variables[name] = value;
    types[name] ??= DYN;
  }
  return run(original, types, variables);
}

function run(
  original: IncrementalTest["original"],
  types: Readonly<Record<string, Type>>,
  variables: Readonly<Record<string, Value>>,
): Verdict {
  const compiled = compileExpression(original.expr, { variables: types, result: "any" });
  const { resultMatcher: wanted } = original;
  const wantsError = wanted.case === "evalError" || wanted.case === "anyEvalErrors";
  if (compiled.kind === "refused") {
    const text = compiled.problems.map(({ message }) => message).join("; ");
    if (/message types|TestAllTypes|GlobalEnum|google\.protobuf|`google`|`cel`/.test(text)) {
      return skipped("protobuf messages");
    }
    if (/`optional`/.test(text)) return skipped("optional values");
    // An error of an unchecked program may also be reported at load.
    if (original.disableCheck) return wantsError ? { kind: "passed" } : skipped("programs that must not be checked");
    return failed(`refused: ${text}`);
  }
  const { expression } = compiled;
  const outcome = expression.evaluate(variables);
  if (wantsError) return outcome.kind === "error" ? { kind: "passed" } : failed("a value where an error is wanted");
  if (original.checkOnly || wanted.case === "typedResult") {
    const type = wanted.case === "typedResult" && wanted.value.deducedType && ourType(wanted.value.deducedType);
    if (type === undefined || type === false) return skipped("protobuf messages");
    if (typeText(type) !== typeText(expression.type)) {
      return failed(`type ${typeText(expression.type)}, wanted ${typeText(type)}`);
    }
    if (original.checkOnly) return { kind: "passed" };
  }
  const proto =
    wanted.case === "value" ? wanted.value : wanted.case === "typedResult" ? wanted.value.result : undefined;
  const value = wanted.case === undefined ? true : proto && ourValue(proto);
  if (value === undefined) return skipped("protobuf messages");
  if (outcome.kind === "error") return failed(`error: ${outcome.error.kind}: ${outcome.error.message}`);
  return same(outcome.value, value)
    ? { kind: "passed" }
    : failed(`value ${shown(outcome.value)}, wanted ${shown(value)}`);
}

/** Equality of values and types; NaN equals NaN. */
function same(found: Value, wanted: Value): boolean {
  if (Number.isNaN(found) && Number.isNaN(wanted)) return true;
  const frame = { variables: {}, locals: [], remainingCost: 1_000_000 };
  return typeName(found) === typeName(wanted) && equals(frame, found, wanted) === true;
}

const shown = (value: Value): string =>
  JSON.stringify(value, (_, item) => (typeof item === "bigint" ? `${item}n` : item)) ?? "undefined";

const summary: string[] = [];

for (const file of getConformanceSuite().suites) {
  const reason = SKIPPED_FILES[file.name];
  const cases = [...file.tests, ...file.suites.flatMap(({ tests }) => tests)];
  if (cases.length === 0) continue;
  if (reason !== undefined) {
    summary.push(`${file.name.padEnd(18)} ${String(cases.length).padStart(4)} skipped: ${reason}`);
    continue;
  }
  test(`${file.name}: the cases of the conformance suite pass`, (context) => {
    const verdicts = cases.map((one) => ({ one, verdict: judge(one) }));
    const passed = verdicts.filter(({ verdict }) => verdict.kind === "passed").length;
    const out = verdicts.filter(({ verdict }) => verdict.kind === "skipped");
    const reasons = [...new Set(out.map(({ verdict }) => (verdict.kind === "passed" ? "" : verdict.why)))];
    const failures = verdicts.flatMap(({ one, verdict }) =>
      verdict.kind === "failed" ? [`${one.name}: ${one.original.expr}: ${verdict.why}`] : [],
    );
    const ran = cases.length - out.length;
    const line = `${file.name.padEnd(18)} ${String(passed).padStart(4)} of ${ran} passed`;
    context.diagnostic(`${line}${out.length === 0 ? "" : `, ${out.length} skipped (${reasons.join(", ")})`}`);
    for (const failure of failures) context.diagnostic(`  failed ${failure}`);
    assert.ok(passed >= (FLOORS[file.name] ?? Number.POSITIVE_INFINITY), `${passed} of ${ran} pass`);
  });
}

test("files that are skipped as a whole are named", (context) => {
  for (const line of summary) context.diagnostic(line);
  assert.equal(summary.length, Object.keys(SKIPPED_FILES).length);
});
