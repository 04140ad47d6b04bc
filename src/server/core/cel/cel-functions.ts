/** Lookup of all functions by name, and by `name/number` if the implementation depends on the number of arguments. */

import { FORMAT_FUNCTIONS } from "./cel-format.ts";
import { OPERATORS } from "./cel-operators.ts";
import { TIME_FUNCTIONS } from "./cel-time.ts";
import { CONVERSIONS } from "./conversions.ts";
import type { Run } from "./evaluation-frame.ts";
import { LIST_FUNCTIONS } from "./list-functions.ts";
import { PATTERN_FUNCTIONS } from "./patterns.ts";
import { STRING_FUNCTIONS } from "./string-functions.ts";

const FUNCTIONS: ReadonlyMap<string, Run> = new Map(
  [
    OPERATORS,
    CONVERSIONS,
    STRING_FUNCTIONS,
    PATTERN_FUNCTIONS,
    FORMAT_FUNCTIONS,
    LIST_FUNCTIONS,
    TIME_FUNCTIONS,
  ].flatMap((table) => Object.entries(table)),
);

export const functionOf = (name: string, args: number): Run | undefined =>
  FUNCTIONS.get(`${name}/${args}`) ?? FUNCTIONS.get(name);
