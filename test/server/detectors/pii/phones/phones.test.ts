/** Telephone numbers as people write them, and other numbers. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { compileScan, createPiiDetector, engineOf } from "../../../../../src/server/detectors/pii/index.ts";
import { DEFAULT_PHONE_REGIONS } from "../../../../../src/server/detectors/pii/phones/numbers.ts";
import { phoneRecognizer } from "../../../../../src/server/detectors/pii/phones/recognizer.ts";
import { cpuMs } from "../../../../support/cpu-time.ts";

const engine = engineOf("pure") ?? assert.fail("the engine is built in");

function scanOf(regions: readonly string[]): (text: string) => readonly string[] {
  const scan = compileScan([phoneRecognizer(regions)], { engine, usesContext: true });
  return (text) => scan(text).map(({ start, end, score }) => `${text.slice(start, end)} ${score}`);
}

const found = scanOf(DEFAULT_PHONE_REGIONS);

test("numbers with a country code are found in any region", () => {
  for (const regions of [DEFAULT_PHONE_REGIONS, ["NZ"], []]) {
    const scan = scanOf(regions);
    const cases = [
      "+965 5001 2378",
      "+971501234580",
      "+49 (0)30 1234567",
      "+44 20 7946 0958",
      "+1 (212) 555-1234",
      "+81-3-1234-5678",
      "(+33) 6 12 34 56 53".slice(1),
      "0044 20 7946 0958",
      "011 44 20 7946 0958",
      "+800 1234 5678",
      "+1-212-555-1234 ext. 55",
    ];
    for (const written of cases) assert.deepEqual(scan(`at ${written}.`).slice(0, 1), [`${written} 0.7`], written);
  }
});

test("numbers in national format are found in their regions", () => {
  for (const written of [
    "(212) 555-1234",
    "212.555.1234",
    "1-800-555-1234",
    "06 12 34 56 53",
    "030 1234567",
    "0171/1234567",
    "020 7946 0958",
    "050 123 4580",
    "0501234580",
    "98765 43210",
    "(11) 91234-5678",
    "5001 2378",
    "2125551234",
  ]) {
    assert.deepEqual(found(`at ${written}.`), [`${written} 0.4`], written);
    assert.deepEqual(found(`phone: ${written}`), [`${written} 0.75`], written);
  }
  assert.deepEqual(scanOf(["DE"])("at 020 7946 0958"), ["020 7946 0958 0.4"]);
  assert.deepEqual(scanOf(["FR"])("at (212) 555-1234"), []);
  assert.deepEqual(scanOf([])("phone: 030 1234567"), []);
});

test("each of several numbers is found", () => {
  assert.deepEqual(found("call 212-555-1234, 212-555-1235 or 212-555-1236"), [
    "212-555-1234 0.75",
    "212-555-1235 0.75",
    "212-555-1236 0.75",
  ]);
  assert.deepEqual(found("هاتف ٠٥٠١٢٣٤٥٨٠"), ["٠٥٠١٢٣٤٥٨٠ 0.75"]);
});

test("dates, amounts, addresses and parts of longer numbers are not found", () => {
  for (const text of [
    "call me on 2025-11-13 10:15",
    "call 12/11/2025",
    "call 1998-2004",
    "phone $ 2125551234",
    "phone 2125551234%",
    "phone abc2125551234",
    "phone 212555123421255512342125551234",
    "call 192.168.100.200",
    "call 48.8583701",
    "calls took 0.138 / 0.146 of 7,076",
    "call 1,234,567,890",
    "call 112 or 911",
    "phone 123e4567-e89b-12d3-a456-426614174000",
    "f(a)+12125551234",
  ]) {
    assert.deepEqual(found(text), [], text);
  }
});

test("an unknown region is refused with its place and the closest known one", () => {
  const config = {
    type: "pii",
    prefilter: "pure",
    mode: "inline",
    schedule: "sync",
    role: "discover",
    on_error: "fail_closed",
    phone_regions: ["DE", "UK"],
  } as const;
  const built = createPiiDetector(config, "pii", true);
  assert.equal(built.kind, "refused");
  assert.deepEqual(built.kind === "refused" ? built.problems.map(({ path }) => path) : [], [["phone_regions", 1]]);
});

/** Quadratic time would be seconds. */
test("a hostile text takes time linear in its length", () => {
  for (const unit of ["1", "1 ", "12-", "(1)", "+1 ", "123-4567 ", "5551234567 ", "٥"]) {
    const time = (length: number): number => {
      const text = unit.repeat(length / unit.length);
      const took = [0, 1].map(() => {
        const from = cpuMs();
        found(text);
        return cpuMs() - from;
      });
      return Math.min(...took);
    };
    time(10_000);
    const [one, four] = [time(20_000), time(80_000)];
    assert.ok(four < 300 + one * 8, `${JSON.stringify(unit)}: ${one} ms, then ${four} ms for four times the text`);
  }
});
