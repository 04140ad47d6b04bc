/** Recognizers of identifiers of all countries. Their order does not matter. */

import type { Recognizer } from "../types.ts";
import { AMERICAS } from "./americas.ts";
import { ASIA } from "./asia.ts";
import { EUROPE } from "./europe.ts";
import { GERMANY } from "./germany.ts";
import { GULF } from "./gulf.ts";
import { UK } from "./uk.ts";
import { US } from "./us.ts";
import { VEHICLES } from "./vehicles.ts";

export const NATIONAL: readonly Recognizer[] = [
  ...US,
  ...AMERICAS,
  ...UK,
  ...GERMANY,
  ...EUROPE,
  ...ASIA,
  ...VEHICLES,
  ...GULF,
];
