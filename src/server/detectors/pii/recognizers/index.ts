import { DEFAULT_PHONE_REGIONS } from "../phones/numbers.ts";
import { phoneRecognizer } from "../phones/recognizer.ts";
import type { Recognizer } from "../types.ts";
import { GENERIC } from "./generic.ts";
import { NATIONAL } from "./national.ts";
import { SECRETS } from "./secrets/index.ts";

const PHONES = phoneRecognizer(DEFAULT_PHONE_REGIONS);

/** Built-in recognizers; each has a unique name. */
export const BUILT_IN: readonly Recognizer[] = [...GENERIC, ...NATIONAL, PHONES, ...SECRETS];
