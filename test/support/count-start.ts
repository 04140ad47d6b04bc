/** Counts the gateways that tests start: the runner names a file in `GATEWAY_TEST_STARTS` and reports its length. */
import { appendFileSync } from "node:fs";

export function countStart(): void {
  const path = process.env["GATEWAY_TEST_STARTS"];
  if (path !== undefined) appendFileSync(path, ".");
}
