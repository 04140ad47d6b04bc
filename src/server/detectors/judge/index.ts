export { type BuiltJudge, createJudge } from "./detector.ts";
