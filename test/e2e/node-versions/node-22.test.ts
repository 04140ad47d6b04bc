/** Runs smoke.ts on Node.js 22. */
import { smokeTest } from "./smoke.ts";

await smokeTest("node-22");
