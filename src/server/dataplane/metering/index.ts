/** What a request used. */
export type { AnswerMeter, Meter } from "./types.ts";
