import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { didYouMean, type FlagsOf, type FlagTable, parseFlags, UsageError } from "../../src/cli/parse-flags.ts";

const table = {
  config: { kind: "string", value: "PATH", meaning: "a file" },
  listen: { kind: "string", default: ":1", meaning: "an address" },
  dialect: { kind: "string", choices: ["compat", "messages"], default: "compat", meaning: "a choice" },
  "max-body": { kind: "integer", min: 1, max: 100, default: 10, meaning: "a number" },
  timeout: { kind: "duration", meaning: "a duration" },
  alias: { kind: "strings", meaning: "a repeatable" },
  offline: { kind: "boolean", meaning: "a switch" },
} as const satisfies FlagTable;

type Options = FlagsOf<typeof table>;

const DEFAULTS: Options = {
  config: undefined,
  listen: ":1",
  dialect: "compat",
  maxBody: 10,
  timeout: undefined,
  alias: [],
  offline: false,
};

/** A command line, the options that differ from the defaults, and the remaining arguments. */
const READ: readonly (readonly [args: string, options: Partial<Options>, positionals?: readonly string[]])[] = [
  ["", {}],
  ["-config a.yaml", { config: "a.yaml" }],
  ["--config a.yaml", { config: "a.yaml" }],
  ["-config=a.yaml", { config: "a.yaml" }],
  ["--config=a=b", { config: "a=b" }],
  ["-config=", { config: "" }],
  ["-config -offline", { config: "-offline" }],
  ["-config a -config b", { config: "b" }],
  ["-alias a=b -alias c=d", { alias: ["a=b", "c=d"] }],
  ["-alias=a=b", { alias: ["a=b"] }],
  ["-max-body 42", { maxBody: 42 }],
  ["-timeout 1m30s", { timeout: 90_000 }],
  ["-timeout=250ms", { timeout: 250 }],
  ["-offline", { offline: true }],
  ["-offline=false", { offline: false }],
  ["-offline=1", { offline: true }],
  ["-offline x", { offline: true }, ["x"]],
  ["-dialect messages", { dialect: "messages" }],
  ["x -offline", {}, ["x", "-offline"]],
  ["-offline -- -config", { offline: true }, ["-config"]],
  ["-", {}, ["-"]],
];

for (const [args, options, positionals = []] of READ) {
  test(`'${args}' is parsed`, () => {
    const parsed = parseFlags(table, argumentsOf(args));
    assert.deepEqual(parsed, { kind: "options", options: { ...DEFAULTS, ...options }, positionals });
  });
}

const REFUSED: readonly (readonly [args: string, message: string])[] = [
  ["-confg x", "unknown flag '-confg' (did you mean '-config'?)"],
  ["-zzzzzz", "unknown flag '-zzzzzz'"],
  ["-token=sk-very-secret", "unknown flag '-token'"],
  ["-constructor", "unknown flag '-constructor'"],
  ["-config", "flag '-config' needs a value"],
  ["-max-body ten", "flag '-max-body' takes an integer from 1 to 100, not 'ten'"],
  ["-max-body 1.5", "flag '-max-body' takes an integer from 1 to 100, not '1.5'"],
  ["-max-body 0", "flag '-max-body' takes an integer from 1 to 100, not '0'"],
  ["-max-body 101", "flag '-max-body' takes an integer from 1 to 100, not '101'"],
  ["-max-body=", "flag '-max-body' takes an integer from 1 to 100, not ''"],
  ["-timeout 5", "flag '-timeout' takes a duration such as 250ms or 1m30s, not '5'"],
  ["-timeout -5s", "flag '-timeout' takes a duration such as 250ms or 1m30s, not '-5s'"],
  ["-offline=maybe", "flag '-offline' is true or false, not 'maybe'"],
  ["-dialect grpc", "flag '-dialect' is compat or messages, not 'grpc'"],
];

for (const [args, message] of REFUSED) {
  test(`'${args}' is refused`, () => {
    assert.throws(() => parseFlags(table, argumentsOf(args)), new UsageError(message));
  });
}

test("a required flag must be there and not empty", () => {
  const required = { config: { kind: "string", required: true, meaning: "a file" } } as const satisfies FlagTable;
  const refusal = new UsageError("flag '-config' is required");
  assert.throws(() => parseFlags(required, []), refusal);
  assert.throws(() => parseFlags(required, ["-config="]), refusal);
});

test("help is requested by -h, -help and --help, but not by the value of a flag", () => {
  for (const arg of ["-h", "-help", "--help"]) assert.deepEqual(parseFlags(table, [arg]), { kind: "help" });
  assert.equal(parseFlags(table, ["-config", "-h"]).kind, "options");
});

test("an argument is quoted without control characters and truncated", () => {
  const control = `${String.fromCharCode(27)}[2J`;
  assert.throws(() => parseFlags(table, [`-dialect=${control}`]), /not '\?\[2J'$/);
  assert.throws(() => parseFlags(table, [`-dialect=${"x".repeat(1_000)}`]), /not 'x{40}\.\.\.'$/);
});

test("any value of a string flag is parsed unchanged", () => {
  fc.assert(
    fc.property(fc.string(), fc.boolean(), (value, isInline) => {
      const args = isInline ? [`-config=${value}`, "rest"] : ["-config", value, "rest"];
      const parsed = parseFlags(table, args);
      assert.ok(parsed.kind === "options");
      assert.equal(parsed.options.config, value);
      assert.deepEqual(parsed.positionals, ["rest"]);
    }),
  );
});

test("any input is parsed or is a usage error", () => {
  fc.assert(
    fc.property(
      fc.array(fc.oneof(fc.string(), fc.constantFrom(...Object.keys(table).map((name) => `-${name}`)))),
      (args) => {
        try {
          parseFlags(table, args);
        } catch (error) {
          assert.ok(error instanceof UsageError, String(error));
        }
      },
    ),
  );
});

test("the nearest name is suggested if it is close enough", () => {
  const names = ["check", "dev", "simulate", "version"];
  assert.equal(didYouMean("chekc", names), " (did you mean 'check'?)");
  assert.equal(didYouMean("simulator", names), " (did you mean 'simulate'?)");
  assert.equal(didYouMean("serve", names), "");
  assert.equal(didYouMean("x".repeat(10_000), names), "");
});

function argumentsOf(args: string): readonly string[] {
  return args === "" ? [] : args.split(" ");
}
