/** Recognizer of DATE_TIME; impossible dates do not match. Source: guardrails reference, 1.2. */

import { isDate as isFullDate, isShortDate } from "../../../core/guardrails/index.ts";
import type { Recognizer } from "../types.ts";

const MONTHS = ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"];
/** Years of dates in ordinary text. Other numbers are versions and counts. */
const LIKELY_YEAR = /^(?:1[0-9]|2[01])/;

/** Returns whether it is a valid date. A year of two digits is any of this century. */
const isDate = (year: string, month: number, day: number): boolean =>
  year.length === 2
    ? isShortDate(Number(year), month, day)
    : LIKELY_YEAR.test(year) && isFullDate(Number(year), month, day);

const monthOf = (name: string): number => MONTHS.indexOf(name) + 1;

/** Returns the proof `undefined` for a possible date, and false otherwise. */
const orNot = (isPossible: boolean): undefined | false => (isPossible ? undefined : false);

const split = (written: string): string[] => written.toUpperCase().split(/[^0-9A-Z]/);

const ofNumbers = (_value: string, written: string): undefined | false => {
  const [one = "", two = "", three = ""] = split(written);
  if (one.length === 4) return orNot(isDate(one, Number(two), Number(three)));
  return orNot(isDate(three, Number(one), Number(two)) || isDate(three, Number(two), Number(one)));
};

const withMonthName = (_value: string, written: string): undefined | false => {
  const parts = split(written);
  const name = parts.findIndex((part) => /^[A-Z]/.test(part));
  const month = monthOf(parts[name] ?? "");
  return orNot(name === 0 ? month > 0 : isDate(parts[2] ?? "00", month, Number(parts[0])));
};

const ofMonthAndYear = (_value: string, written: string): undefined | false => {
  const month = Number(split(written)[0]);
  return orNot(month >= 1 && month <= 12);
};

export const DATES: Recognizer = {
  name: "DateRecognizer",
  entity: "DATE_TIME",
  category: "pii",
  patterns: [
    {
      kind: "text",
      name: "iso 8601",
      score: 0.8,
      regex:
        "\\b\\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\\d|3[01])t(?:[01]\\d|2[0-4]):[0-5]\\d(?::[0-6]\\d(?:[.,]\\d{1,9})?)?(?:z|[+-][01]\\d:?[0-5]\\d)\\b",
      keywords: Array.from({ length: 10 }, (_, digit) => `${digit}t`),
      validate: (value) => orNot(isDate(value.slice(0, 4), Number(value.slice(5, 7)), Number(value.slice(8, 10)))),
    },
    {
      kind: "shape",
      name: "date",
      score: 0.6,
      shapes: ["d1", "d2"].flatMap((one) =>
        ["d1", "d2"].flatMap((two) => [`${one}-${two}-d4`, `${one}-${two}-d2`, `d4-${one}-${two}`]),
      ),
      separators: "/-",
      validate: ofNumbers,
    },
    {
      kind: "shape",
      name: "d.m.y",
      score: 0.6,
      shapes: ["d1-d1-d4", "d1-d2-d4", "d2-d1-d4", "d2-d2-d4", "d2-d2-d2"],
      separators: ".",
      // Next to a fourth number and dot, it would be part of an IP address or a version.
      isWhole: true,
      validate: (_value, written) => {
        const [day, month, year = ""] = written.split(".");
        return orNot(isDate(year, Number(month), Number(day)));
      },
    },
    {
      kind: "shape",
      name: "d-mmm-y",
      score: 0.6,
      shapes: ["d1-L3-d4", "d2-L3-d4", "d1-L3-d2", "d2-L3-d2", "L3-d4", "L3-d2", "d1-L3", "d2-L3"],
      separators: "-",
      validate: withMonthName,
    },
    {
      kind: "shape",
      name: "m/yyyy",
      score: 0.2,
      shapes: ["d1-d4", "d2-d4"],
      separators: "/",
      validate: ofMonthAndYear,
    },
    { kind: "shape", name: "m/yy", score: 0.1, shapes: ["d1-d2", "d2-d2"], separators: "/", validate: ofMonthAndYear },
  ],
  context: ["date", "birthday"],
};
