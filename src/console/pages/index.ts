/** Pages built from answers: pure functions from an answer to lines. */

export { differencePage } from "./difference.ts";
