export { compileFormats } from "./compile.ts";
