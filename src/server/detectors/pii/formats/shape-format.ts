/** Format of a shape's values: groups of digits and letters with separators between them. */

import { createRunScanner } from "../runs.ts";
import { shapeTree } from "../shape-patterns.ts";
import type { ShapePattern } from "../types.ts";
import { ALPHANUMERICS, DIGITS, LETTERS, type PatternFormat, pick } from "./types.ts";

const CLASSES: Readonly<Record<string, string>> = { d: DIGITS, L: LETTERS, x: ALPHANUMERICS };

/** Maximum number of samples that are tried until one has the form that the pattern requires. */
const MAX_TRIES = 2_000;

export function shapeFormat(pattern: ShapePattern): PatternFormat {
  const { validate, separators = " -" } = pattern;
  const isForm = validate?.isForm === true;
  const scanned = isForm ? pattern : withoutCheck(pattern);
  const scan = createRunScanner(shapeTree([{ rule: 0, pattern: scanned }]));
  const checked = createRunScanner(shapeTree([{ rule: 0, pattern }]));
  /** Character classes of the groups, by the groups' lengths. */
  const byLengths = new Map<string, string[][]>();
  for (const shape of pattern.shapes) {
    const groups = shape.split("-").map(classesOfGroup);
    const key = groups.map(({ length }) => length).join("-");
    byLengths.set(key, [...(byLengths.get(key) ?? []), groups.flat()]);
  }
  const isWhole = (scanner: typeof scan, value: string): boolean => {
    let found = false;
    scanner(value, (_, start, end, proof) => {
      found ||= start === 0 && end === value.length && proof !== false;
    });
    return found;
  };
  return {
    classesOf(value) {
      if (!isWhole(scan, value)) return undefined;
      const groups = value.split(/[^0-9A-Za-z]/);
      const fitting = (byLengths.get(groups.map(({ length }) => length).join("-")) ?? []).filter((classes) =>
        [...groups.join("")].every((symbol, at) => classes[at]?.includes(symbol)),
      );
      if (fitting.length === 0) return undefined;
      let place = 0;
      return [...value].map((character) => {
        if (!/[0-9A-Za-z]/.test(character)) return undefined;
        const members = fitting.map((classes) => classes[place] ?? "");
        place += 1;
        return members.length === 1
          ? members[0]
          : [...ALPHANUMERICS].filter((it) => members.some((of) => of.includes(it))).join("");
      });
    },
    each: (text, take) =>
      scan(text, (_, start, end, proof) => {
        if (proof !== false) take(start, end);
      }),
    accepts: (value) => isWhole(checked, value),
    proof: validate === undefined ? "none" : isForm ? "form" : "check",
    sample(random) {
      for (let tries = 0; tries < MAX_TRIES; tries += 1) {
        const separator = pick(separators, random);
        const value = pick(pattern.shapes, random)
          .split("-")
          .map((group) =>
            classesOfGroup(group)
              .map((members) => pick(members.slice(0, 36), random))
              .join(""),
          )
          .join(separator);
        if (isWhole(scan, value)) return value;
      }
      return undefined;
    },
  };
}

const withoutCheck = ({ validate: _, ...pattern }: ShapePattern): ShapePattern => pattern;

const classesOfGroup = (group: string): string[] =>
  [...group.matchAll(/([dLx])(\d+)/g)].flatMap(([, kind = "", count]) =>
    new Array<string>(Number(count)).fill(CLASSES[kind] ?? ""),
  );
