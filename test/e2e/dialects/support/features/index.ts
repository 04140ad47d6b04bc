/** All features, in the order of the table. */
import type { Feature } from "../cell.ts";
import { FAILURE_FEATURES } from "./failures.ts";
import { LOST_FEATURES } from "./lost.ts";
import { MEDIA_FEATURES } from "./media.ts";
import { TEXT_FEATURES } from "./text.ts";
import { THINKING_FEATURES } from "./thinking.ts";
import { TOOL_FEATURES } from "./tools.ts";

export const FEATURES: readonly Feature[] = [
  ...TEXT_FEATURES,
  ...TOOL_FEATURES,
  ...MEDIA_FEATURES,
  ...THINKING_FEATURES,
  ...FAILURE_FEATURES,
  ...LOST_FEATURES,
];
