export { type BuiltRemoteDetector, createRemoteDetector } from "./detector.ts";
