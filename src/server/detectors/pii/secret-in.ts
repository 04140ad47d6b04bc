/** Checks whether a text for people contains a secret. Runs the recognizers of secrets synchronously in this thread. */

import { engineOf } from "./engines.ts";
import { compileScan, type Scan } from "./pii-scan.ts";
import { SECRETS } from "./recognizers/secrets/index.ts";

/**
 * Pattern of this gateway's virtual keys. One with a wrong checksum, such as a mistyped one, is treated as a secret
 * too.
 */
const GATEWAY_KEY = /gwk_[0-9A-Za-z]{8}_[A-Za-z0-9_-]{49}/;

let scan: Scan | undefined;

/**
 * Returns the entity type of the first secret, such as `GITHUB_TOKEN`; `undefined` if there is none. Intended for texts
 * of some hundred characters.
 */
export function secretIn(text: string): string | undefined {
  if (GATEWAY_KEY.test(text)) return "GATEWAY_KEY";
  scan ??= compile();
  return scan(text)[0]?.label;
}

function compile(): Scan {
  const engine = engineOf("pure");
  if (engine === undefined) throw new Error("the engine of V8 is always there");
  return compileScan(SECRETS, { engine, usesContext: false });
}
